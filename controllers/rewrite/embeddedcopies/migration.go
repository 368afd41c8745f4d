// Package embeddedcopies moves stashed copies of objects from versions of a CRD that are to be removed to one that stays,
// where a place declares how (survivors.Move). Each object that holds an old copy gets a successor with the converted
// copy. Everything that names the old one is changed to name the successor. When a look at everything that can name it
// finds nothing any more, it is kept in a journal, or in the successor, and deleted. That is the only deletion that
// Moult knows. Run may be stopped at any time and run again: what it does next follows from what it finds, and from
// what was kept. docs/survivors.md is for users.
package embeddedcopies

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/policies/survivors"
)

const (
	// freshFor is how long after a survey objects are deleted by what it shows, or as long as the survey took, if that is longer.
	freshFor = 30 * time.Second
	// workers are the copies that may be moved at a time; the Lane allows fewer.
	workers = 16
	// manager is who writes, in managedFields.
	manager = "moult"
)

// Lister lists all objects of a resource whole, a page at a time. An object may come twice. why says, after an error of the API
// server, why the objects are not known, and which permission is missing if that is why.
type Lister interface {
	EachObject(ctx context.Context, at schema.GroupVersionResource, take func(*unstructured.Unstructured)) (why string, err error)
}

// Converter converts objects as the API server converts those of a CRD that are stored. It converts them to its storage
// version if that is one of some versions, else to the first of these. An error says why it cannot, or what would be
// lost.
type Converter interface {
	ConvertCopy(ctx context.Context, crd string, object map[string]any, to []string) (converted map[string]any, version string, err error)
}

// Journal keeps what is deleted. Keep returns when it is safe on disk. Kept is what a run before this one has kept.
type Journal interface {
	Keep(object *unstructured.Unstructured) error
	Kept() []*unstructured.Unstructured
}

// Migration moves stashed copies.
type Migration struct {
	repairs.Work

	// Targets are the CRDs whose objects are in the copies, and their versions that leave.
	Targets []survivors.Target
	// Places are where copies lie. Those without a survivors.Move are left out.
	Places []survivors.Place
	// Lister lists them.
	Lister Lister
	// Client reads and writes.
	Client dynamic.Interface
	// Types are those of the converted copies. Copies of others are not checked.
	Types map[CRDVersion]*survivors.Types
	// Converter converts copies at places that leave it to their CRD. Default: they are left, with NoRule.
	Converter Converter
	// Mapper finds the resource of an owner.
	Mapper meta.RESTMapper
	// Journal gets what is deleted, first. It is not used in a dry run. Default: an annotation of the successor, see Replaced.
	Journal Journal
	// Tell hears of each object that was deleted, or was made again, as it happens. Default: it is not done.
	Tell func(Replacement)
	// Losses is asked what an object would lose before it is written. Default: nothing is asked.
	Losses rewrite.Losses
	// TakeOver moves, too, what a controller of the project moves by itself.
	TakeOver bool

	removed *removed
}

// Replacement is that one object took the place of another, or that it was taken back.
type Replacement struct {
	repairs.Item
	// Object has the place now: the successor, or the one that was made again.
	Now *unstructured.Unstructured
	// NamedBy is what names the object that was made again; empty if it was deleted.
	NamedBy string
}

// CRDVersion is a version of a CRD.
type CRDVersion struct{ CRD, Version string }

// Run looks and moves until a look finds nothing to do. It is as Work.Run.
func (m *Migration) Run(ctx context.Context) (repairs.Report, error) {
	if m.Tell == nil {
		m.Tell = func(Replacement) {}
	}
	m.removed = newRemoved(m.Journal)
	return m.Work.Run(ctx, &Kind, nil, m.look)
}

// look does what one survey shows has to be done.
func (m *Migration) look(ctx context.Context) error {
	for _, move := range m.moves() {
		s, err := m.survey(ctx, move)
		if err != nil {
			return err
		}
		if err := m.restoreOwnership(ctx, s); err != nil {
			return err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(workers)
		for _, one := range s.stashes {
			group.Go(func() error { return (&visit{Migration: m, survey: s, stash: one}).run(ctx) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// moving is a move, and its places that are about one of the targets.
type moving struct {
	*survivors.Move
	places []*survivors.Place
}

func (m *Migration) moves() (all []*moving) {
	walker := survivors.NewWalker(m.Places, m.Targets)
	byName := map[string]*moving{}
	for i := range walker.Places() {
		p := &walker.Places()[i]
		move := survivors.MoveOf(p)
		if move == nil {
			continue
		}
		if byName[move.Name] == nil {
			byName[move.Name] = &moving{Move: move}
			all = append(all, byName[move.Name])
		}
		byName[move.Name].places = append(byName[move.Name].places, p)
	}
	return all
}

// target is the CRD of a copy, if the copy is at a version that leaves it.
func (m *Migration) target(group, kind, version string) *survivors.Target {
	for i := range m.Targets {
		if t := &m.Targets[i]; t.Group == group && t.HasKind(kind) && t.Leaves(version) {
			return t
		}
	}
	return nil
}
