package desired

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/clusters/desired/artifact"
	"github.com/moult-dev/moult/clusters/desired/deciding"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/flux"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/desired/rights"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
)

// Follow builds an entry point and everything that is applied because of it. The entry point is a folder of the tree,
// from what the tree was opened for or from its root; empty is what the tree was opened for. A tree of a file is one unit
// of the manifests in it, and what they point at.
//
// The error is about the entry point alone: a unit that cannot be built has an Err, and the others are there. So has an entry point
// that is guessed.
func Follow(ctx context.Context, t *repository.Tree, entry string, o Options) (*delivery.Cluster, error) {
	tree, c := files.Of(t), &delivery.Cluster{Name: entry}
	f := newFollower(o, tree, c)
	f.releases = newReleases(tree, o.Charts)
	if entry == "" {
		f.cluster.Name = t.Name
	}
	if o.Guessed {
		f.known.Beside = flux.BesideIn(tree)
	}
	first, err := f.entry(ctx, entry)
	if err != nil && o.Guessed && entry != "" && ctx.Err() == nil {
		first, err = f.failedEntry(entry, err), nil
	}
	if err != nil {
		return nil, err
	}
	f.add(first)
	return f.cluster, f.follow(ctx)
}

// Stream takes manifests that are rendered already, by Helm or whatever else, for what a cluster gets. Nothing that they
// point at is followed: it is unseen.
func Stream(ctx context.Context, name string, r io.Reader) (*delivery.Cluster, error) {
	rendering, err := render.Stream(name, r)
	if err != nil {
		return nil, err
	}
	c := &delivery.Cluster{Name: name}
	f := newFollower(Options{}, nil, c)
	f.cluster.Units = []*delivery.Unit{{Name: name, Objects: files.Placed(rendering, f.tree.Place)}}
	f.findTwice()
	f.findUnseen(ctx)
	return f.cluster, nil
}

// follower is one Follow under way.
type follower struct {
	Options

	tree    *files.Tree
	cluster *delivery.Cluster
	// seen are the Kustomizations and Applications that have become units, so that no circle is walked twice.
	seen map[string]*delivery.Object
	// others are manifests of the same names, by what they say.
	others map[string]bool
	// later are those that need something of a unit that may still come.
	later []pointer
	// known are the objects of the cluster, for Flux.
	known flux.Objects
	// unused are the values and sources that nothing makes use of.
	unused func() []*delivery.Object
	// hidden is what of this repository decides about the objects of a unit that are not seen.
	hidden map[*delivery.Unit]*hidden
	// releases are the HelmReleases, and where charts come from.
	*releases
	// rights are what programs may do.
	rights func() *rights.Rights
	// texts are the changed files as they are here, without comments. Only what is made of one is a reason to note that it was read.
	texts func() []files.Text
	// templates are what makes objects of instances.
	templates func() map[schema.GroupKind]*delivery.Object
	// anothers are repositories that are known to be others than this one.
	anothers map[string]bool
	// unknownValues are those of all Kustomizations so far.
	unknownValues []unknownValues
	// belows are what decides in folders that may be published.
	belows map[string]string
	// placed are the files that objects of units are from.
	placed func() map[string]bool
	// stagings are the artifacts that were put together so far.
	stagings map[artifactName]func() (*artifact.Artifact, error)
}

// newFollower has found nothing yet. What is a function looks when somebody asks, once: late, when all units are there.
func newFollower(o Options, t *files.Tree, c *delivery.Cluster) *follower {
	f := &follower{
		Options: o, tree: t, cluster: c, known: flux.ObjectsOf(c), seen: map[string]*delivery.Object{}, others: map[string]bool{}, hidden: map[*delivery.Unit]*hidden{},
		anothers: map[string]bool{}, belows: map[string]string{}, stagings: map[artifactName]func() (*artifact.Artifact, error){},
	}
	f.unused, f.placed, f.texts = sync.OnceValue(f.findUnused), sync.OnceValue(f.findPlaced), sync.OnceValue(f.changedTexts)
	f.rights = sync.OnceValue(func() *rights.Rights { return rights.Of(c) })
	f.templates = sync.OnceValue(func() map[schema.GroupKind]*delivery.Object { return templatesOf(c) })
	return f
}

// pointer is an object that makes a tool apply something.
type pointer struct {
	by     *delivery.Object
	parent *delivery.Unit
	last   bool // what it needs will not come any more
}

// follow goes through the units, and looks at what has come of it.
func (f *follower) follow(ctx context.Context) error {
	if err := f.walk(ctx); err != nil {
		return err
	}
	f.reportVariables()
	f.leaveToTools()
	f.findTwice()
	f.findInputs()
	f.findUnseen(ctx)
	return nil
}

// walk goes through the units while more are being added.
func (f *follower) walk(ctx context.Context) error {
	for next := 0; ; next++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if next == len(f.cluster.Units) {
			if !f.takeLate(ctx) {
				break
			}
			next--
			continue
		}
		unit := f.cluster.Units[next]
		for _, object := range unit.Objects {
			if len(f.cluster.Units) > kinds.MostUnits {
				return fmt.Errorf("%s leads to more than %d Kustomizations and Applications; name an entry point of one cluster", f.cluster.Name, kinds.MostUnits)
			}
			f.take(ctx, pointer{by: object, parent: unit})
		}
	}
	return nil
}

// takeLate takes one of those that need something of a unit that may still come: Kustomizations, then HelmReleases. It reports
// whether there was one.
func (f *follower) takeLate(ctx context.Context) bool {
	switch {
	case len(f.later) > 0:
		late := f.later[0]
		f.later = f.later[1:]
		late.last = true
		f.take(ctx, late)
	case f.releases != nil && len(f.pending) > 0:
		f.fetchAhead(ctx)
		late := f.pending[0]
		f.pending, f.ahead = f.pending[1:], f.ahead-1
		f.release(ctx, late)
	default:
		return false
	}
	return true
}

// take makes a unit of an object that makes a tool apply something, once.
func (f *follower) take(ctx context.Context, p pointer) {
	if f.releases != nil && kinds.IsHelmRelease(p.by) {
		f.pending = append(f.pending, p)
		return
	}
	if !kinds.Delivers(p.by) {
		return
	}
	if !p.last && f.waits(p) {
		f.later = append(f.later, p)
		return
	}
	if followed := f.seen[f.key(p)]; followed != nil && !f.isAnother(p, followed) {
		return
	}
	for _, unit := range f.units(ctx, p) {
		f.number(unit)
		f.add(unit)
	}
}

func (f *follower) add(unit *delivery.Unit) {
	if unit.By != nil {
		f.note(pointer{by: unit.By, parent: unit.Parent})
	}
	if unit.Err != nil {
		unit.Failure = files.FailureOf(unit.Err)
	}
	f.cluster.Units = append(f.cluster.Units, unit)
	f.report(unit)
}

// note remembers the first object of a name.
func (f *follower) note(p pointer) {
	if f.seen[f.key(p)] == nil {
		f.seen[f.key(p)] = p.by
	}
}

// isAnother reports whether an object has the name of one that is followed and says something else, as none before. Which of them counts is not
// known, so both are followed.
func (f *follower) isAnother(p pointer, followed *delivery.Object) bool {
	says := jsonOf(deciding.Of(p.by))
	if followed.Unstructured == p.by.Unstructured || says == jsonOf(deciding.Of(followed)) || f.others[f.key(p)+says] {
		return false
	}
	f.others[f.key(p)+says] = true
	return true
}

// number gives a unit a name of its own, if another one of its kind has the same.
func (f *follower) number(unit *delivery.Unit) {
	name := unit.Name
	isTaken := func(other *delivery.Unit) bool {
		return other.Name == unit.Name && other.By != nil && other.By.GetKind() == unit.By.GetKind()
	}
	for i := 2; unit.By != nil && slices.ContainsFunc(f.cluster.Units, isTaken); i++ {
		unit.Name = fmt.Sprintf("%s (%d)", name, i)
	}
}

// key is the same for the same object, whichever unit it was found in.
func (f *follower) key(p pointer) string { return kinds.NameOf(p.by, p.parent) }
