package migration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/setup"
)

// Losses asks the guard of a CRD, opted in or not, for writes that are not part of its migration. It is a rewrite.Losses.
type Losses struct {
	reconciler *Reconciler // of which the guard is

	mu   sync.Mutex
	none map[string]string // the resourceVersions of CRDs whose objects would lose nothing, by their names
}

// NewLosses is for a migration with these options.
func NewLosses(cfg *rest.Config, httpClient *http.Client, opts Options) (*Losses, error) {
	objects, err := rewrite.NewClient(cfg, httpClient)
	return &Losses{reconciler: &Reconciler{opts: opts.withDefaults(), objects: objects}, none: map[string]string{}}, err
}

// Of is a rewrite.Losses'.
func (l *Losses) Of(ctx context.Context, resource schema.GroupResource) (ask rewrite.AskLoss, done func(), err error) {
	nothing := func() {}
	if !strings.Contains(resource.Group, ".") {
		return nil, nothing, nil // no CRD has such a group
	}
	r, name := l.reconciler, resource.String()
	crd, err := r.withoutSchemas(ctx, name)
	switch {
	case rewrite.IsGone(err, apiextensionsv1.GroupName, name):
		return nil, nothing, nil
	case err != nil:
		return nil, nil, fmt.Errorf("reading the CRD %s, for what its objects would lose by a write: %w", name, err)
	case l.isNone(crd):
		return nil, nothing, nil
	}
	if done, err = r.opts.Room.ForSchemas(ctx, setup.SchemaBytes(crd)); err != nil {
		return nil, nil, err
	}
	f, err := r.fieldsOf(ctx, name)
	if held := (*walkFailure)(nil); errors.As(err, &held) {
		done()
		return func(context.Context, types.NamespacedName) (string, error) { return held.Error(), nil }, nothing, nil
	}
	if err == nil && f != nil && len(f.sights)+len(f.unseen) > 0 {
		return l.by(f, name), done, nil
	}
	done()
	if err == nil {
		l.keep(crd)
	}
	return nil, nothing, err
}

// isNone reports whether no object of a CRD would lose anything, by Moult's proof, by what is remembered of it, or because a webhook
// answers for what it does.
func (l *Losses) isNone(crd *apiextensionsv1.CustomResourceDefinition) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(crds.MayBeStoredAt(crd, l.reconciler.opts.LabelKey)) == 1 || crds.HasWebhook(crd) && !l.reconciler.opts.Rehearse ||
		l.none[crd.Name] == crd.ResourceVersion
}

// mostNone bounds how many CRDs are remembered.
const mostNone = 1000

func (l *Losses) keep(crd *apiextensionsv1.CustomResourceDefinition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.none) >= mostNone {
		clear(l.none)
	}
	l.none[crd.Name] = crd.ResourceVersion
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
		return func(context.Context, types.NamespacedName) (string, error) { return unseen.Message, nil }
	}
	return func(ctx context.Context, key types.NamespacedName) (why string, err error) {
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
		return fmt.Sprintf("%s does not have %s. Other clients' writes lose this, too: flip back, or make %[1]s keep it. To let it go: annotation %s: %q on %s",
			f.storage, strings.Join(lost, ", "), v1alpha1.AllowFieldLossAnnotation, strings.Join(lost, ","), crd), nil
	}
}
