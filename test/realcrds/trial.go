package main

import (
	"context"
	"io"
	"os"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/preview"
)

// trial is what releases are tried with: moult, and an API server that judges what it says.
type trial struct {
	moult   program
	judge   judge
	verbose bool
	out     io.Writer
}

// result is what comes of a pair.
type result struct {
	row
	answer  answer
	rulings []ruling
	wrong   []error
}

// try compares the CRDs of two releases, asks for a preview of the repository that they are commits of, and asks the API
// server.
func (t trial) try(ctx context.Context, p pair) (result, error) {
	r := result{row: row{pair: p}}
	dir, err := os.MkdirTemp("", "realcrds")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	u, err := p.unpack(ctx, dir)
	if err != nil {
		return r, err
	}
	differ := t.compare(&r, u)
	if err := u.commit(ctx); err != nil {
		return r, err
	}
	if r.answer, err = t.moult.preview(ctx, u.head.dir); err != nil {
		return r, err
	}
	if r.rulings, err = t.judge.rule(ctx, u.base.crds, u.head.crds); err != nil {
		return r, err
	}
	if t.verbose {
		tellAnswers(t.out, r)
	}
	r.wrong = append(r.wrong, unlooked(r.answer.report, differ)...)
	r.wrong = append(r.wrong, p.disagreements(r.answer.report, r.rulings)...)
	return r, nil
}

// compare counts what differs, and holds it to the pruning of the API server.
func (t trial) compare(r *result, u unpacked) []crddiff.Diff {
	differ := crddiff.Sets(u.base.crds, u.head.crds, v1alpha1.MigrateLabel)
	r.crds = len(u.head.crds)
	for _, crd := range differ {
		r.count(crd)
		if t.verbose {
			tell(t.out, r.pair, crd)
		}
	}
	r.wrong = check(u.base.crds, u.head.crds, differ)
	return differ
}

// judged counts the CRDs about which the preview says something.
func (r result) judged(as preview.Verdict) (n int) {
	seen := map[string]bool{}
	for _, c := range r.answer.report.CRDs {
		if !seen[c.Name] && verdictOn(r.answer.report, c.Name, anywhere) == as {
			n++
		}
		seen[c.Name] = true
	}
	return n
}

func (r result) refusedFresh() (n int) {
	for _, one := range r.rulings {
		if one.fresh != nil {
			n++
		}
	}
	return n
}

func (r result) refusedAged() (n int) {
	for _, one := range r.rulings {
		if one.aged != nil {
			n++
		}
	}
	return n
}
