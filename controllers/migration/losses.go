package migration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/setup"
)

// Losses asks the guard of a CRD, opted in or not, and admission, for writes that are not part of its migration. It is a rewrite.Losses.
type Losses struct {
	// DryRun is true if nothing will be written: then no settle time is waited for.
	DryRun bool

	reconciler *Reconciler // of which the guard is

	mu    sync.Mutex
	known map[schema.GroupVersionResource]known
}

// known is what is remembered of a resource.
type known struct {
	crd   string    // a digest of its CRD
	since time.Time // since when it is seen

	none string // the CRD's resourceVersion with which objects would lose nothing by the guard

	admission *rewrite.Admission
	asked     time.Time
	with      string // the CRD's resourceVersion
}

const (
	// mostKnown bounds how many resources are remembered.
	mostKnown = 1000
	// admissionFor is how long what admission there is, is remembered.
	admissionFor = time.Minute
)

// NewLosses is for a migration with these options.
func NewLosses(cfg *rest.Config, httpClient *http.Client, opts Options) (*Losses, error) {
	objects, err := rewrite.NewClient(cfg, httpClient)
	return &Losses{reconciler: &Reconciler{opts: opts.withDefaults(), objects: objects}, known: map[schema.GroupVersionResource]known{}}, err
}

// Of is a rewrite.Losses'.
func (l *Losses) Of(ctx context.Context, at schema.GroupVersionResource) (ask rewrite.AskLoss, done func(), err error) {
	crd, err := l.crd(ctx, at.GroupResource())
	if err != nil {
		return nil, nil, err
	}
	is := l.sees(at, crd)
	if wait := l.reconciler.opts.Settle - l.reconciler.opts.Clock.Since(is.since); crd.Name != "" && wait > 0 && !l.DryRun {
		return nil, nil, &rewrite.Settling{CRD: crd.Name, For: wait}
	}
	byFields, done, err := l.byFields(ctx, at, crd, is)
	if err != nil {
		return nil, nil, err
	}
	admission := l.admission(ctx, at, crd, is)
	return func(ctx context.Context, key types.NamespacedName, updates bool) (why string, err error) {
		if byFields != nil {
			if why, err := byFields(ctx, key, updates); why != "" || err != nil {
				return why, err
			}
		}
		if !updates {
			return "", nil
		}
		passes := func(err error) bool { return apierrors.IsConflict(err) || rewrite.MayPass(err) }
		err = rewrite.Retry{Clock: l.reconciler.opts.Clock, Passes: passes}.Do(ctx, func() (err error) {
			why, err = admission.Ask(ctx, key)
			return err
		})
		return why, err
	}, done, nil
}

// crd is that of a resource. One that is no CRD's has no more of it than its own name.
func (l *Losses) crd(ctx context.Context, of schema.GroupResource) (*apiextensionsv1.CustomResourceDefinition, error) {
	none := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: of.Group, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: of.Resource},
	}}
	if !strings.Contains(of.Group, ".") {
		return none, nil // no CRD has such a group
	}
	crd, err := l.reconciler.withoutSchemas(ctx, of.String())
	switch {
	case rewrite.IsGone(err, apiextensionsv1.GroupName, of.String()):
		return none, nil
	case err != nil:
		return nil, fmt.Errorf("reading the CRD %s, for what its objects would lose by a write: %w", of, err)
	}
	return crd, nil
}

// sees is what is known of a resource with this CRD. One that was there before this process saw it may be new. What was not seen in
// between shows in the generation.
func (l *Losses) sees(at schema.GroupVersionResource, crd *apiextensionsv1.CustomResourceDefinition) known {
	l.mu.Lock()
	defer l.mu.Unlock()
	is := l.known[at]
	if digest := fmt.Sprint(crd.UID, crd.Generation, shapeOf(crd)); is.crd != digest {
		is = known{crd: digest, since: l.reconciler.opts.Clock.Now()}
		l.keep(at, is)
	}
	return is
}

// keep remembers a resource. The caller holds the lock.
func (l *Losses) keep(at schema.GroupVersionResource, is known) {
	if _, there := l.known[at]; !there && len(l.known) >= mostKnown {
		clear(l.known)
	}
	l.known[at] = is
}

// change is keep, for who does not hold the lock.
func (l *Losses) change(at schema.GroupVersionResource, how func(*known)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	is := l.known[at]
	how(&is)
	l.keep(at, is)
}

// admission is asked about each object where something listed may change it.
func (l *Losses) admission(ctx context.Context, at schema.GroupVersionResource, crd *apiextensionsv1.CustomResourceDefinition, is known) *rewrite.Admission {
	if clk := l.reconciler.opts.Clock; is.admission == nil || is.with != crd.ResourceVersion || clk.Since(is.asked) > admissionFor {
		is.admission = l.reconciler.admission(ctx, crd, at.Version)
		l.change(at, func(k *known) { k.admission, k.asked, k.with = is.admission, clk.Now(), crd.ResourceVersion })
	}
	return is.admission
}

// byFields asks the guard. It is nil if no object would lose a field.
func (l *Losses) byFields(ctx context.Context, at schema.GroupVersionResource, crd *apiextensionsv1.CustomResourceDefinition, is known) (ask rewrite.AskLoss, done func(), err error) {
	r, nothing := l.reconciler, func() {}
	if crd.Name == "" || is.none == crd.ResourceVersion || r.losesNothing(crd) {
		return nil, nothing, nil
	}
	if done, err = r.opts.Room.ForSchemas(ctx, setup.SchemaBytes(crd)); err != nil {
		return nil, nil, err
	}
	f, err := r.fieldsOf(ctx, crd.Name)
	if held := (*walkFailure)(nil); errors.As(err, &held) {
		done()
		return func(context.Context, types.NamespacedName, bool) (string, error) { return held.Error(), nil }, nothing, nil
	}
	if err == nil && f != nil && len(f.sights)+len(f.unseen) > 0 {
		return l.by(f, crd.Name), done, nil
	}
	done()
	if err == nil {
		l.change(at, func(k *known) { k.none = crd.ResourceVersion })
	}
	return nil, nothing, err
}

// losesNothing reports whether no object of a CRD would lose a field, by Moult's proof, or because a webhook answers for what it does.
func (r *Reconciler) losesNothing(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return len(crds.MayBeStoredAt(crd, r.opts.LabelKey)) == 1 || crds.HasWebhook(crd) && !r.opts.Rehearse
}

// withoutSchemas reads any CRD, with the digests of its schemas.
func (r *Reconciler) withoutSchemas(ctx context.Context, name string) (crd *apiextensionsv1.CustomResourceDefinition, err error) {
	err = rewrite.Retry{Clock: r.opts.Clock}.Do(ctx, func() error {
		return r.objects.TakeWhole(ctx, crdsResource, types.NamespacedName{Name: name}, func(raw []byte) (err error) {
			if crd, err = setup.WithoutSchemas(raw); err == nil && crd.ResourceVersion == "" {
				err = rewrite.ErrNoAnswer
			}
			return err
		})
	})
	return crd, err
}

// by asks by the fields of a CRD. Where it cannot be seen what objects have, none is written.
func (l *Losses) by(f *fields, crd string) rewrite.AskLoss {
	if unseen := f.failure(); unseen != nil {
		return func(context.Context, types.NamespacedName, bool) (string, error) { return unseen.Message, nil }
	}
	return func(ctx context.Context, key types.NamespacedName, _ bool) (why string, err error) {
		var lost []string
		err = rewrite.Retry{Clock: l.reconciler.opts.Clock}.Do(ctx, func() (err error) {
			lost, err = f.lostBy(ctx, key)
			return err
		})
		if err != nil || len(lost) == 0 {
			return "", err
		}
		if lost = slices.DeleteFunc(lost, func(field string) bool { return field == "" }); len(lost) == 0 {
			return "it may be stored at a version which is not served, so it cannot be seen what the conversion webhook would lose of it. Serve that version until it is rewritten", nil
		}
		return fmt.Sprintf("%s does not have %s. Other clients' writes lose this, too: flip back, or make %s keep it. To let it go: annotation %s: %q on %s",
			f.storage, strings.Join(lost, ", "), f.storage, v1alpha1.AllowFieldLossAnnotation, strings.Join(lost, ","), crd), nil
	}
}
