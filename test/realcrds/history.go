package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/deprecation"
	"github.com/moult-dev/moult/policies/finding"
)

// lived is what comes of a project's past.
type lived struct {
	past
	report deprecation.Report
	// refused and noWayBack count the CRDs of all steps of which the API server and the report say so.
	refused, noWayBack int
}

var livedTable = table[lived]{
	name: "histories", target: "histories",
	head: "| project | releases | steps | errors | warnings | upgrades refused | no way back (confirmed) | the most telling |",
	row: func(l lived) string {
		releases := l.releases
		return fmt.Sprintf("| %s | %s to %s | %d | %d | %d | %d | %d | %s %s: %s |", l.project, releases[0].tag, releases[len(releases)-1].tag, len(releases)-1,
			l.report.Errors(), l.warnings(), l.refused, l.noWayBack, l.telling.to, "`"+l.telling.rule+"`", l.telling.words)
	},
}

func (l lived) warnings() (n int) {
	for _, f := range l.report.Findings {
		if f.Severity == finding.Warning {
			n++
		}
	}
	return n
}

// allPasts tries every project, and holds the page to what comes of them.
func (t trial) allPasts(ctx context.Context, o options) error {
	var results []lived
	var wrong []error
	for _, p := range pasts {
		if !strings.HasPrefix(p.project, o.only) {
			continue
		}
		l, errs, err := t.live(ctx, p, o.histories)
		if err != nil {
			return fmt.Errorf("%s: %w", p.project, err)
		}
		wrong, results = append(wrong, errs...), append(results, l)
	}
	fmt.Fprint(o.out, livedTable.of(results))
	if o.only == "" {
		wrong = append(wrong, compare(o, []table[lived]{livedTable}, results))
	}
	return errors.Join(wrong...)
}

// live asks moult about a project's past, and the API server about each step of it.
func (t trial) live(ctx context.Context, p past, clones string) (l lived, wrong []error, err error) {
	l.past = p
	dir, err := os.MkdirTemp("", "realcrds")
	if err != nil {
		return l, nil, err
	}
	defer os.RemoveAll(dir)
	states, err := p.unpack(ctx, filepath.Join(clones, p.name+".git"), dir)
	if err != nil {
		return l, nil, err
	}
	if l.report, err = t.moult.history(ctx, states, p.releases); err != nil {
		return l, nil, err
	}
	for i := 1; i < len(states); i++ {
		trips, err := t.judge.travel(ctx, states[i-1].crds, states[i].crds)
		if err != nil {
			return l, nil, err
		}
		step := p.releases[i-1].tag + " → " + p.releases[i].tag
		findings := slices.DeleteFunc(slices.Clone(l.report.Findings), func(f deprecation.Violation) bool { return f.To != p.releases[i].tag })
		for _, err := range misled(findings, trips) {
			wrong = append(wrong, fmt.Errorf("%s %s: %w", p.project, step, err))
		}
		l.count(trips)
		if t.verbose {
			tellTrips(t.out, p.project+" "+step, findings, trips)
		}
	}
	if !slices.ContainsFunc(l.report.Findings, p.telling.is) {
		wrong = append(wrong, fmt.Errorf("%s: the finding that the table names is not among those of the report: %v", p.project, p.telling))
	}
	return l, wrong, nil
}

func (l *lived) count(trips []trip) {
	for _, t := range trips {
		if t.there != nil {
			l.refused++
		}
		if t.back != nil {
			l.noWayBack++
		}
	}
}

func (t telling) is(f deprecation.Violation) bool {
	return f.Rule == t.rule && f.CRD == t.crd && f.To == t.to
}

func (p past) unpack(ctx context.Context, repository, dir string) (states []state, err error) {
	if _, err := os.Stat(repository); err != nil {
		return nil, fmt.Errorf("%w; clone it with `git clone --bare %s %s`", err, p.clone, repository)
	}
	for _, r := range p.releases {
		s := state{dir: filepath.Join(dir, r.tag)}
		if err := checkOut(ctx, repository, r.commit, s.dir, p.folders); err != nil {
			return nil, err
		}
		if s.crds, err = crdsIn(s.dir, p.folders); err != nil {
			return nil, fmt.Errorf("%s: %w", r.tag, err)
		}
		states = append(states, s)
	}
	return states, nil
}

// checkOut writes some folders of a commit, with an index of its own, so that nothing is written into the repository.
func checkOut(ctx context.Context, repository, commit, into string, folders []string) error {
	if err := os.MkdirAll(into, 0o750); err != nil {
		return err
	}
	there := slices.DeleteFunc(slices.Clone(folders), func(folder string) bool {
		return git(ctx, repository, into, "cat-file", "-e", commit+":"+folder) != nil // it lay elsewhere in that release
	})
	if len(there) == 0 {
		return fmt.Errorf("%s has none of %v at %s", repository, folders, commit)
	}
	archive := into + ".zip"
	if err := git(ctx, repository, into, append([]string{"archive", "--format=zip", "--prefix=files@" + commit + "/", "--output=" + archive, commit, "--"}, there...)...); err != nil {
		return err
	}
	return unpack(archive, "files", release{version: commit}, into)
}

// history runs `moult check versions` on releases, which are given as the API server gets them.
func (p program) history(ctx context.Context, states []state, releases []tagged) (report deprecation.Report, err error) {
	args := []string{"check", "versions", "-o", "json"}
	for i, s := range states {
		dir := s.dir + "-crds"
		if err := writeManifests(dir, s.crds); err != nil {
			return report, err
		}
		args = append(args, "--release", releases[i].tag+"="+dir)
	}
	command := exec.CommandContext(ctx, p.file, args...)
	command.Dir = os.TempDir()
	var errOut bytes.Buffer
	command.Stderr = &errOut
	out, err := command.Output()
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) && exited.ExitCode() == 1 {
		err = nil // there are errors in the history
	}
	if err == nil {
		err = json.Unmarshal(out, &report)
	}
	if err != nil {
		return report, fmt.Errorf("moult check versions: %w: %s", err, errOut.String())
	}
	return report, nil
}

func writeManifests(dir string, crds []*apiextensionsv1.CustomResourceDefinition) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	for _, crd := range crds {
		body, err := manifest(crd)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, crd.Name+".yaml"), body, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// tellTrips prints the errors and warnings of a step, and what the API server refuses.
func tellTrips(out io.Writer, step string, findings []deprecation.Violation, trips []trip) {
	fmt.Fprintf(out, "%s: %d CRDs\n", step, len(trips))
	for _, f := range findings {
		if f.Severity != finding.Info {
			fmt.Fprintf(out, "  %-7s %s %s %s %s: %s\n", f.Severity, f.Rule, f.CRD, f.Version, f.Path, f.Why)
		}
	}
	for _, t := range trips {
		for _, refused := range []struct {
			where string
			err   error
		}{{"already before", t.before}, {"there", t.there}, {"back", t.back}} {
			if refused.err != nil {
				fmt.Fprintf(out, "  refused %s: %v\n", refused.where, refused.err)
			}
		}
	}
}
