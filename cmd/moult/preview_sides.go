package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/rollout"
)

// sides are the two states of the repository.
type sides struct{ base, head side }

// side is a tree or, if that is nil, what standard input held.
type side struct {
	tree   *repository.Tree
	stream *desired.Cluster
}

func (p *previewCommand) open(ctx context.Context, stdin io.Reader) (*sides, error) {
	s := &sides{}
	var err error
	if s.base, err = openSide(ctx, p.base, stdin); err != nil {
		return nil, fmt.Errorf("--base: %w", err)
	}
	if s.head, err = openSide(ctx, p.head, stdin); err != nil {
		s.close()
		return nil, fmt.Errorf("--head: %w", err)
	}
	for _, one := range []side{s.base, s.head} {
		if one.tree != nil {
			for _, note := range one.tree.Notes {
				fmt.Fprintf(p.errOut, "%s: %s\n", one.tree.Name, note)
			}
		}
	}
	return s, nil
}

func openSide(ctx context.Context, where string, stdin io.Reader) (side, error) {
	if where == "-" {
		read, err := desired.Stream("standard input", stdin)
		if err == nil && !slices.ContainsFunc(read.Units, func(u *desired.Unit) bool { return len(u.Objects) > 0 }) {
			err = errors.New("standard input holds no manifest, as if all were to be deleted; if it comes from a program, that has failed, and if there is to be none, name an empty folder")
		}
		return side{stream: read}, err
	}
	opened, err := repository.Open(ctx, where)
	return side{tree: opened}, err
}

func (s *sides) close() {
	for _, one := range []side{s.base, s.head} {
		if one.tree != nil {
			_ = one.tree.Close() // what is left then is a temporary folder
		}
	}
}

// follow is what an entry point amounts to; empty is what was named itself. One that is not there is nil.
func (s side) follow(ctx context.Context, entry string) (*desired.Cluster, error) {
	if s.stream != nil {
		return s.stream, nil
	}
	if entry != "" && !s.has(entry) {
		return nil, nil
	}
	return desired.Follow(ctx, s.tree, entry)
}

// has tells whether there is such an entry point.
func (s side) has(entry string) bool {
	for _, around := range []string{s.tree.Dir, s.tree.Root} {
		if _, err := os.Stat(filepath.Join(around, filepath.FromSlash(entry))); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// delivered is what one entry point gets before and after.
func (s *sides) delivered(ctx context.Context, entry, name string) (preview.Delivered, error) {
	d := preview.Delivered{Name: name}
	var base, head *desired.Cluster
	var both errgroup.Group
	look := func(flag string, from side, to **desired.Cluster, taken *preview.Side) {
		both.Go(func() (err error) {
			if *to, err = from.follow(ctx, entry); err != nil {
				return fmt.Errorf("%s: %w%s", flag, err, nameEntry(entry))
			}
			if *taken, err = sideOf(*to, name); err != nil {
				return fmt.Errorf("%s: %w", flag, err)
			}
			return nil
		})
	}
	look("--head", s.head, &head, &d.Head)
	look("--base", s.base, &base, &d.Base)
	if err := both.Wait(); err != nil {
		return d, err
	}
	if base == nil && head == nil {
		return d, fmt.Errorf("--entry %s: neither --base nor --head has such a folder", entry)
	}
	d.Base.CRDs = slices.DeleteFunc(d.Base.CRDs, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return resumed(base, head, crd.Name) })
	d.Findings = notBuilt(base, head, aboutHead(head, name), name)
	return d, nil
}

// resumed tells whether a CRD is in a unit that its tool has not looked at, and looks at from now on. What the base says of
// it need not have reached the cluster, so it is asked about as if it were new in Git.
func resumed(base, head *desired.Cluster, crd string) bool {
	rests := func(c *desired.Cluster) bool {
		return c != nil && slices.ContainsFunc(c.CRDs(), func(found desired.CRD) bool { return found.GetName() == crd && found.Unit.Suspended })
	}
	return rests(base) && !rests(head)
}

// nameEntry is what to do about a build of everything that there is.
func nameEntry(entry string) string {
	if entry != "" {
		return ""
	}
	return "; in a repository with several clusters, name an entry point with --entry"
}

func aboutHead(head *desired.Cluster, name string) []finding.Finding {
	if head == nil {
		return nil
	}
	found := slices.Clone(head.Findings)
	for i := range found {
		found[i].Cluster = name
	}
	return found
}

// notBuilt are findings about units that could not be built before the change, so that nobody can tell what it changes.
// What fails in the same way before and after is no fault of the change, and may well be built where it is applied: with a
// network, or a plug-in.
func notBuilt(base, head *desired.Cluster, found []finding.Finding, name string) []finding.Finding {
	if base == nil {
		return found
	}
	for _, unit := range base.Units {
		if unit.Err == nil {
			continue
		}
		f := finding.Finding{
			Rule: preview.BaseNotBuilt, Severity: finding.Warning, Cluster: name,
			Why:  fmt.Sprintf("%s cannot be built before this change, so what changes in its CRDs is not known: %s", unit.Name, inOneLine(unit.Err)),
			Mend: "see to what it holds yourself, or repair it with a pull request of its own first",
		}
		if still := failsAlike(unit, head); still != nil {
			f.Rule = preview.NeitherBuilt
			f.Why = fmt.Sprintf("%s cannot be built here, before this change or after it, so what changes in its CRDs is not known: %s", unit.Name, inOneLine(unit.Err))
			f.Mend = "render it where it can be built, and give the preview that on standard input"
			found = slices.DeleteFunc(found, still.Blames)
		}
		found = append(found, f)
	}
	return found
}

// failsAlike is the unit of the head that cannot be built for the same reason; nil if there is none.
func failsAlike(unit *desired.Unit, head *desired.Cluster) *desired.Unit {
	if head == nil {
		return nil
	}
	for _, other := range head.Units {
		if other.Name == unit.Name && other.Err != nil && kindOfFailure(other.Err) == kindOfFailure(unit.Err) {
			return other
		}
	}
	return nil
}

// kindOfFailure is an error without the folder that a revision was written to.
func kindOfFailure(err error) string {
	return temporary.ReplaceAllString(inOneLine(err), "")
}

var temporary = regexp.MustCompile(regexp.QuoteMeta(strings.TrimSuffix(os.TempDir(), "/")) + `/[^/ '"]+`)

func inOneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// sideOf is a cluster as the preview takes it.
func sideOf(c *desired.Cluster, name string) (preview.Side, error) {
	s := preview.Side{Units: rollout.Cluster{Name: name}, Undeclared: map[string][]string{}}
	if c == nil {
		return s, nil
	}
	known := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, found := range c.CRDs() {
		crd, undeclared, err := crddiff.DecodeStrictly(found.Unstructured)
		if err != nil {
			at := found.At().String()
			if at != "" {
				at += ": "
			}
			return s, fmt.Errorf("%s%w", at, err)
		}
		known[crd.Name], s.Undeclared[crd.Name] = crd, undeclared // of two, which is a finding, the later one counts
	}
	for _, crd := range known {
		s.CRDs = append(s.CRDs, crd)
	}
	slices.SortFunc(s.CRDs, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	for _, unit := range c.Units {
		s.Units.Units = append(s.Units.Units, unitOf(unit))
	}
	for _, u := range c.Unseen {
		s.Units.Unseen = append(s.Units.Unseen, rollout.Source{Name: u.Name, By: &rollout.Object{Unstructured: u.By.Unstructured, At: u.By.At}, Why: u.Why, Fingerprint: u.Fingerprint})
	}
	return s, nil
}

func unitOf(u *desired.Unit) rollout.Unit {
	unit := rollout.Unit{Name: u.Name, Tool: u.Tool, Deliveries: u.Deliveries, DependsOn: u.DependsOn, Unseen: u.Unseen != "" || u.Err != nil, Inputs: u.Inputs}
	if u.By != nil {
		unit.By = &rollout.Object{Unstructured: u.By.Unstructured, At: u.By.At}
	}
	if u.Parent != nil {
		unit.Parent = u.Parent.Name
	}
	for _, object := range u.Objects {
		unit.Objects = append(unit.Objects, &rollout.Object{Unstructured: object.Unstructured, At: object.At})
	}
	return unit
}
