package restore

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/moult-dev/moult/clusters/archive"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/words"
)

// Manager is the field manager of what is restored, until the managedFields of the backup are.
const Manager = "moult-restore"

// Options say what is restored, and how.
type Options struct {
	// CRDs are the names of those whose objects are restored; none are all.
	CRDs []string
	// Version is the one to restore at; empty is the one that has most.
	Version string
	// WithCRDs creates CRDs that the cluster lacks.
	WithCRDs bool
	// Overwrite writes over what differs.
	Overwrite bool
	// Fields are patterns of those that are put back into objects that no longer have them; nothing else is written then.
	Fields []string
	// DropOwners restores objects without those owners that are not there.
	DropOwners bool
	// DryRun writes nothing, and asks the API server what it would say.
	DryRun bool
	// Engine asks the conversion webhook of a CRD; nil if none is to be asked.
	Engine func(*apiextensionsv1.CustomResourceDefinition) (*conversion.Engine, error)
	// Converted are objects at versions that the cluster serves, for those that the backup has only at others.
	Converted []unstructured.Unstructured
	// Tell hears how many objects are done, and of how many.
	Tell func(done, total int64)
}

// atOnce is how many objects are written at a time.
const atOnce = 8

// Run restores a backup. It may be interrupted and repeated. An error is that of a cluster that does not answer; what the API
// server says about one object is in the report.
func Run(ctx context.Context, cfg *rest.Config, b *archive.Backup, o Options) (*Report, error) {
	r, err := newRestorer(cfg, b, o)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, of := range b.CRDs {
		if len(o.CRDs) > 0 && !slices.Contains(o.CRDs, of.Name) {
			continue
		}
		t, err := r.target(ctx, b.Definitions[of.Name])
		if err != nil {
			return nil, err
		}
		r.targets[of.Name] = t
		r.tally.report.CRDs = append(r.tally.report.CRDs, CRDReport{Name: of.Name, Needed: t.needed, Objects: of.Objects, Counts: map[Outcome]int64{}})
		if t.needed == "" {
			total += of.Objects
		}
	}
	for i := range r.tally.report.CRDs {
		r.tally.byName[r.tally.report.CRDs[i].Name] = &r.tally.report.CRDs[i]
	}
	for _, of := range b.CRDs {
		for _, m := range of.Missing {
			if t := r.targets[of.Name]; t != nil && t.needed == "" && len(m.At) == len(of.Versions) {
				r.tally.add(of.Name, Result{Object: m.Object, Outcome: Unread, Why: m.Why}, false, false)
				total--
			}
		}
	}
	r.total = total
	err = r.rounds(ctx)
	if err != nil || total == 0 {
		r.tally.report.NoField = nil // not all objects were looked at
	}
	if err != nil {
		return &r.tally.report, err
	}
	r.unmatched()
	return &r.tally.report, nil
}

// restorer is one restore.
type restorer struct {
	Options
	backup  *archive.Backup
	objects dynamic.Interface
	crds    apiextensions.CustomResourceDefinitionInterface
	mapper  meta.ResettableRESTMapper
	targets map[string]*target // by the CRD's name
	owners  *owners
	tally   tally
	total   int64
}

func newRestorer(cfg *rest.Config, b *archive.Backup, o Options) (*restorer, error) {
	r := &restorer{Options: o, backup: b, targets: map[string]*target{}, tally: tally{report: Report{DryRun: o.DryRun, CRDs: []CRDReport{}, NoField: slices.Clone(o.Fields)}, byName: map[string]*CRDReport{}}}
	var err error
	if r.objects, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, err
	}
	client, err := apiextensions.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	r.crds = client.CustomResourceDefinitions()
	kinds, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	r.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
	r.owners = newOwners(r)
	return r, nil
}

// rounds restores all objects: owners before those that they own. Each round reads the whole backup, and restores what has all its
// owners. A round after which as many wait as before it has shown that some owners do not come.
func (r *restorer) rounds(ctx context.Context) error {
	done, at := int64(0), stageWait
	var waiting map[int]bool // nil in the first round: all are
	for {
		r.owners.round(at)
		left, err := r.round(ctx, waiting, func(n int64) {
			done += n
			if r.Tell != nil {
				r.Tell(done, r.total)
			}
		})
		if err != nil || len(left) == 0 {
			return err
		}
		switch {
		case waiting == nil || len(left) < len(waiting):
			at = stageWait
		case at == stageWait && r.DropOwners:
			at = stageDrop
		default:
			at = stageEnd
		}
		waiting = left
	}
}

// round restores objects, and reports which ones wait for their owners, by their place in the backup.
func (r *restorer) round(ctx context.Context, wanted map[int]bool, tell func(int64)) (left map[int]bool, err error) {
	type ended struct {
		at     int
		waited bool
	}
	left = map[int]bool{}
	all, done, collected := make(chan numbered), make(chan ended, atOnce), make(chan struct{})
	go func() {
		defer close(collected)
		for e := range done {
			if e.waited {
				left[e.at] = true
				continue
			}
			tell(1)
		}
	}()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(all)
		at := -1
		return r.backup.Each(func(o archive.Object) error {
			at++
			t := r.targets[o.CRD]
			if t == nil || t.needed != "" || wanted != nil && !wanted[at] {
				return nil
			}
			select {
			case all <- numbered{Object: o, at: at}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	for range atOnce {
		group.Go(func() error {
			for o := range all {
				waits, err := r.restore(ctx, r.targets[o.CRD], o.Object)
				if err != nil {
					return fmt.Errorf("%s %s: %w", o.CRD, nameOf(o.Object), err)
				}
				done <- ended{at: o.at, waited: waits}
			}
			return nil
		})
	}
	err = group.Wait()
	close(done)
	<-collected
	return left, err
}

type numbered struct {
	archive.Object
	at int
}

func nameOf(o archive.Object) string { return words.FullName(o.Namespace, o.Name) }
