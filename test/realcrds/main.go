package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/programs"
)

func main() {
	os.Exit(started())
}

// started returns the exit code.
func started() int {
	options := options{out: os.Stdout}
	flag.BoolVar(&options.verbose, "v", false, "print every error and warning")
	flag.BoolVar(&options.write, "write", false, "write the tables into the page")
	flag.StringVar(&options.page, "page", "docs/real-releases.md", "page that holds the tables")
	flag.StringVar(&options.only, "only", "", "try only the pairs or projects whose names begin so, and leave the page alone")
	flag.StringVar(&options.folders, "folders", "", "only write all CRDs into base and head in this folder, to measure moult preview")
	flag.StringVar(&options.histories, "histories", "", "judge the histories in this folder of bare clones, in place of the pairs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	work := run
	if options.folders != "" {
		work = writeFolders
	}
	if err := work(ctx, options); err != nil {
		fmt.Fprintf(os.Stderr, "realcrds: %v\n", err)
		return 1
	}
	return 0
}

type options struct {
	verbose, write bool
	page           string
	folders        string
	histories      string
	only           string
	out            io.Writer
}

func run(ctx context.Context, o options) (failed error) {
	cp, err := controlplane.Start()
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, cp.Stop()) }()
	t := trial{out: o.out, verbose: o.verbose}
	if t.moult.file, err = programs.Path("moult"); err != nil {
		return err
	}
	if t.judge, err = newJudge(cp.Config); err != nil {
		return err
	}
	if o.histories != "" {
		return t.allPasts(ctx, o)
	}
	return t.all(ctx, o)
}

// all tries every pair, and holds the page to what comes of them.
func (t trial) all(ctx context.Context, o options) error {
	var results []result
	var wrong []error
	for _, p := range pairs {
		if !strings.HasPrefix(p.String(), o.only) {
			continue
		}
		r, err := t.try(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		for _, err := range r.wrong {
			wrong = append(wrong, fmt.Errorf("%s: %w", p, err))
		}
		for _, over := range r.answer.beyond() {
			fmt.Fprintf(o.out, "%s: the preview %s\n", p, over)
		}
		results = append(results, r)
	}
	fmt.Fprintf(o.out, "%s\n%s", comparisons.of(results), previews.of(results))
	if o.only == "" {
		wrong = append(wrong, compare(o, tables, results))
	}
	return errors.Join(wrong...)
}

// check finds what is wrong with what was found.
func check(base, head []*apiextensionsv1.CustomResourceDefinition, differ []crddiff.Diff) []error {
	var wrong []error
	for _, crds := range [][]*apiextensionsv1.CustomResourceDefinition{base, head} {
		if same := crddiff.Sets(crds, crds, v1alpha1.MigrateLabel); len(same) > 0 {
			wrong = append(wrong, fmt.Errorf("%s differs from itself", same[0].Name))
		}
	}
	after := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range head {
		after[crd.Name] = crd
	}
	found := map[string]crddiff.Diff{}
	for _, crd := range differ {
		found[crd.Name] = crd
	}
	for _, was := range base {
		is, crd := after[was.Name], found[was.Name]
		if is == nil {
			continue
		}
		if crd.Head == nil {
			crd = crddiff.Compare(was, is, v1alpha1.MigrateLabel) // for its shape: nothing has changed
		}
		misjudged, err := misjudged(was, is, crd)
		if err != nil {
			wrong = append(wrong, err)
		}
		for _, loss := range misjudged {
			wrong = append(wrong, errors.New(loss))
		}
	}
	return wrong
}

// tell prints what somebody should look at.
func tell(out io.Writer, p pair, crd crddiff.Diff) {
	fmt.Fprintf(out, "%s: %s\n", p, crd.Name)
	for _, c := range crd.Changes {
		if c.Severity == finding.Info && c.Field != "" {
			continue
		}
		against := ""
		if c.Against != "" {
			against = " against " + c.Against
		}
		fmt.Fprintf(out, "  %-7s %s %s%s %s: %q → %q\n", c.Severity, c.Rule, c.Version, against, c.Field, c.From, c.To)
	}
}

// tellAnswers prints what the preview says of the CRDs that it does not call safe, and what the API server refuses.
func tellAnswers(out io.Writer, r result) {
	fmt.Fprintf(out, "%s: %s: %s\n", r.pair, r.answer.report.Verdict, r.answer.report.Sentence)
	for _, c := range r.answer.report.CRDs {
		for _, in := range c.Clusters {
			if in.Verdict != preview.Safe {
				fmt.Fprintf(out, "  %-8s %s %s %s: %s\n", in.Verdict, c.Name, in.Cluster, in.Reason, in.Sentence)
			}
		}
	}
	for _, f := range r.answer.report.Findings {
		if f.CRD == "" {
			fmt.Fprintf(out, "  %-8s %s %s %s: %s\n", f.Severity, f.Rule, f.Object, f.Place, f.Why)
		}
	}
	for _, one := range r.rulings {
		for _, refused := range []struct {
			where string
			err   error
		}{{"already before", one.before}, {"in a fresh cluster", one.fresh}, {"in an aged cluster", one.aged}} {
			if refused.err != nil {
				fmt.Fprintf(out, "  refused %s: %v\n", refused.where, refused.err)
			}
		}
	}
}

// compare holds the tables to those in the page, or writes them.
func compare[R any](o options, tables []table[R], results []R) error {
	content, err := os.ReadFile(o.page)
	if err != nil {
		return err
	}
	page, differ := string(content), false
	for _, t := range tables {
		was, with, err := t.replaced(page, t.of(results))
		if err != nil {
			return fmt.Errorf("%s: %w", o.page, err)
		}
		page, differ = with, differ || lasting(was) != lasting(t.of(results))
	}
	switch {
	case o.write:
		return os.WriteFile(o.page, []byte(page), 0o600)
	case differ:
		return fmt.Errorf("%s has other tables; make %s ARGS=-write writes these", o.page, tables[0].target)
	}
	return nil
}
