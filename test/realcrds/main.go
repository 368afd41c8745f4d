package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
)

func main() {
	os.Exit(started())
}

// started returns the exit code.
func started() int {
	options := options{out: os.Stdout}
	flag.BoolVar(&options.verbose, "v", false, "print every error and warning")
	flag.BoolVar(&options.write, "write", false, "write the table into the page")
	flag.StringVar(&options.page, "page", "docs/previews.md", "page that holds the table")
	flag.StringVar(&options.folders, "folders", "", "only write all CRDs into base and head in this folder, to measure moult preview")
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
	out            io.Writer
}

func run(ctx context.Context, o options) error {
	var rows []row
	var wrong []error
	var took time.Duration
	crds := 0
	for _, p := range pairs {
		base, head, err := releases(ctx, p)
		if err != nil {
			return err
		}
		r := row{pair: p, crds: len(head)}
		started := time.Now()
		differ := crddiff.Sets(base, head, v1alpha1.MigrateLabel)
		took += time.Since(started)
		crds += len(head)
		for _, crd := range differ {
			r.count(crd)
			if o.verbose {
				tell(o.out, p, crd)
			}
		}
		rows = append(rows, r)
		wrong = append(wrong, check(base, head, differ)...)
		wrong = append(wrong, refused(base, head)...)
	}
	fmt.Fprintf(o.out, "%s%d pairs of CRDs compared in %s\n", table(rows), crds, took.Round(time.Millisecond))
	return errors.Join(append(wrong, compare(o, table(rows)))...)
}

// releases are the CRDs of both.
func releases(ctx context.Context, p pair) (base, head []*apiextensionsv1.CustomResourceDefinition, err error) {
	for _, side := range []struct {
		release
		crds *[]*apiextensionsv1.CustomResourceDefinition
	}{{p.from, &base}, {p.to, &head}} {
		dir, err := fetch(ctx, p.module, side.release)
		if err != nil {
			return nil, nil, err
		}
		if *side.crds, err = crdsIn(dir, p.folders); err != nil {
			return nil, nil, fmt.Errorf("%s %s: %w", p.project, side.version, err)
		}
	}
	return base, head, nil
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
		missing, err := untold(was, is, crd)
		if err != nil {
			wrong = append(wrong, err)
		}
		for _, loss := range missing {
			wrong = append(wrong, errors.New(loss))
		}
	}
	return wrong
}

// tell prints what somebody should look at.
func tell(out io.Writer, p pair, crd crddiff.Diff) {
	fmt.Fprintf(out, "%s %s → %s: %s\n", p.project, p.from.version, p.to.version, crd.Name)
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

// compare holds the table to the one in the page, or writes it.
func compare(o options, table string) error {
	content, err := os.ReadFile(o.page)
	if err != nil {
		return err
	}
	was, page, err := replaced(string(content), table)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", o.page, err)
	case o.write:
		return os.WriteFile(o.page, []byte(page), 0o600)
	case was != table:
		return fmt.Errorf("%s has another table; make test-real ARGS=-write writes this one", o.page)
	}
	return nil
}
