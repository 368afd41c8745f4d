package restore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/crdschema"
)

// target is a CRD of the cluster, beside the one of the backup.
type target struct {
	was, is *apiextensionsv1.CustomResourceDefinition
	// needed says why nothing can be restored.
	needed string
	// versions are those to restore at: the first is chosen, if no other has more. What is restored comes from the copies at those
	// that are read; the storage version of the time is the first of them.
	versions, read []string
	// fields are patterns of the only ones that are wanted; none are all.
	fields []string
	// hooked is set if a webhook converts, or did when the backup was made: then no version stands for another.
	hooked bool
	// convertTo is a version that the objects were not read at, and engine asks the webhook for it; nil if none converts.
	convertTo string
	engine    *conversion.Engine
	// given are objects that somebody has converted, and unasked says what the others need; it is empty if they need nothing.
	// The files have those and others; the backup has those that are met.
	given   map[types.NamespacedName]*unstructured.Unstructured
	files   map[types.NamespacedName]bool
	met     sync.Map
	unasked string
	// guards are for fields alone, by the version that is written at.
	guards map[string]guard
	// then and now are the schemas of both, by version.
	then, now map[string]*crdschema.Version
}

// target looks at the CRD in the cluster.
func (r *restorer) target(ctx context.Context, was *apiextensionsv1.CustomResourceDefinition) (*target, error) {
	t := &target{was: was, files: r.filesOf(was)}
	is, err := r.crds.Get(ctx, was.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if !r.WithCRDs {
			t.needed = "the cluster does not have this CRD" + r.otherGroup(ctx, was) + "; --with-crds makes it as it is in the backup"
			return t, nil
		}
		if r.DryRun {
			t.needed = "the cluster does not have this CRD; it would be made as it is in the backup, and what the API server says to its objects is not known before"
			return t, nil
		}
		is, err = r.create(ctx, was)
	}
	if err != nil {
		return nil, err
	}
	t.is = is
	if is.Spec.Scope != was.Spec.Scope || is.Spec.Names.Kind != was.Spec.Names.Kind {
		t.needed = fmt.Sprintf("the CRD is of kind %s and %s in the cluster, and was of kind %s and %s in the backup: these are other objects. Restore into a cluster without the CRD, with --with-crds",
			is.Spec.Names.Kind, is.Spec.Scope, was.Spec.Names.Kind, was.Spec.Scope)
		return t, nil
	}
	if t.then, err = schemasOf(was); err != nil {
		return nil, err
	}
	if t.now, err = schemasOf(is); err != nil {
		return nil, err
	}
	if len(r.Fields) > 0 {
		if t.guards, err = guardsOf(is); err != nil {
			return nil, err
		}
	}
	return t, r.choose(t, r.versionsOf(was.Name))
}

// otherGroup says that the cluster has the kind in another group; empty if it has not, or that cannot be known.
func (r *restorer) otherGroup(ctx context.Context, was *apiextensionsv1.CustomResourceDefinition) string {
	all, err := r.crds.List(ctx, metav1.ListOptions{})
	if err != nil {
		return ""
	}
	for i := range all.Items {
		if names := all.Items[i].Spec.Names; names.Kind == was.Spec.Names.Kind && names.Plural == was.Spec.Names.Plural {
			return fmt.Sprintf(", and has %s: if the group changed from %s, its objects are other ones", all.Items[i].Name, was.Spec.Group)
		}
	}
	return ""
}

// versionsOf are those that the backup has objects at.
func (r *restorer) versionsOf(crd string) []string {
	for _, of := range r.backup.CRDs {
		if of.Name == crd {
			return of.Versions
		}
	}
	return nil
}

func schemasOf(crd *apiextensionsv1.CustomResourceDefinition) (map[string]*crdschema.Version, error) {
	all := map[string]*crdschema.Version{}
	for _, name := range crds.Versions(crd) {
		v, err := crdschema.VersionOf(crd, name)
		if err != nil {
			return nil, fmt.Errorf("the schema of %s at %s cannot be used: %w", crd.Name, name, err)
		}
		all[name] = v
	}
	return all, nil
}

// choose finds the versions to restore at.
func (r *restorer) choose(t *target, read []string) (err error) {
	asked := r.Version
	t.fields, t.hooked = r.Fields, crds.HasWebhook(t.was) || crds.HasWebhook(t.is)
	t.read = slices.Clone(read)
	// What is stored shows at the storage version of the time if a webhook converts, and may show only at another without one.
	if i := slices.Index(t.read, crds.StorageVersion(t.was)); i > 0 {
		t.read[0], t.read[i] = t.read[i], t.read[0]
	}
	for _, version := range t.read {
		if apihelpers.HasServedCRDVersion(t.is, version) && (asked == "" || asked == version) {
			t.versions = append(t.versions, version)
		}
	}
	if len(t.versions) > 0 || len(read) == 0 {
		t.settle(asked)
		return nil
	}
	if t.given, err = r.givenFor(t.is); err != nil {
		return err
	}
	serves := crds.Served(t.is)
	to := slices.DeleteFunc(slices.Clone(serves), func(v string) bool { return asked != "" && asked != v })
	slices.SortStableFunc(to, func(a, b string) int { return cmp.Compare(t.fit(b), t.fit(a)) })
	switch {
	case len(to) == 0:
		t.needed = fmt.Sprintf("%s is not among the versions that the cluster serves (%s) and the backup has (%s); name another with --version", asked, strings.Join(serves, ", "), strings.Join(read, ", "))
	case !t.hooked:
		t.versions = to[:1]
		t.settle(asked)
	case r.Engine == nil:
		needed := fmt.Sprintf("The cluster serves %s, and the backup has the objects at %s. A webhook converts them: name one that knows both with --webhook or --webhook-command, or give the converted objects with --converted. "+
			"Or serve one of these as long as this takes, or restore into a cluster without the CRD, with --with-crds, and migrate there", strings.Join(serves, ", "), strings.Join(read, ", "))
		if len(t.given) == 0 {
			t.needed = needed
			return nil
		}
		t.versions, t.convertTo, t.unasked = t.read, to[0], needed
	default:
		t.versions, t.convertTo = t.read, to[0]
		t.engine, err = r.Engine(t.between())
	}
	return err
}

// settle says which copies are used where the backup has a version that the cluster serves, and where nothing but fields is written.
func (t *target) settle(asked string) {
	stored := crds.StorageVersion(t.is)
	switch {
	// A write of fields alone at another version would take what only the stored one has.
	case t.hooked && len(t.fields) > 0 && slices.Contains(t.versions, stored):
		t.versions = []string{stored}
		t.read = t.versions
	case t.hooked:
		t.read = t.versions
	case len(t.fields) > 0:
		if asked == "" && apihelpers.HasServedCRDVersion(t.is, stored) {
			t.versions = []string{stored}
		}
	case slices.Contains(t.read, asked):
		t.read = slices.DeleteFunc(t.read, func(v string) bool { return v != asked && apihelpers.HasServedCRDVersion(t.is, v) })
	}
}

// fit is how well objects are converted to a version: best, but for fields alone, if the backup's CRD has it, too, else if it is the stored one.
func (t *target) fit(version string) int {
	switch {
	case len(t.fields) > 0 && crds.StorageVersion(t.is) == version:
		return 3 // a write of fields alone takes nothing there
	case crds.Has(t.was, version):
		return 2
	case crds.StorageVersion(t.is) == version:
		return 1
	}
	return 0
}

// between is the CRD of the cluster with the versions of the backup's.
func (t *target) between() *apiextensionsv1.CustomResourceDefinition {
	crd := t.is.DeepCopy()
	if !crds.HasWebhook(crd) {
		crd.Spec.Conversion = t.was.Spec.Conversion.DeepCopy()
	}
	for _, v := range t.was.Spec.Versions {
		if !crds.Has(crd, v.Name) {
			v.Storage = false
			crd.Spec.Versions = append(crd.Spec.Versions, *v.DeepCopy())
		}
	}
	return crd
}

// resource is that of the objects at a version.
func (t *target) resource(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: t.is.Spec.Group, Version: version, Resource: t.is.Spec.Names.Plural}
}

// establishTime is how long the API server may take to serve a new CRD.
const establishTime = time.Minute

// create makes a CRD as it was.
func (r *restorer) create(ctx context.Context, was *apiextensionsv1.CustomResourceDefinition) (is *apiextensionsv1.CustomResourceDefinition, err error) {
	crd := &apiextensionsv1.CustomResourceDefinition{Spec: *was.Spec.DeepCopy()}
	crd.Name, crd.Labels, crd.Annotations = was.Name, was.Labels, was.Annotations
	if _, err = r.crds.Create(ctx, crd, metav1.CreateOptions{FieldManager: Manager}); err != nil {
		return nil, fmt.Errorf("making the CRD %s: %w", was.Name, err)
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, establishTime, true, func(ctx context.Context) (bool, error) {
		if is, err = r.crds.Get(ctx, was.Name, metav1.GetOptions{}); err != nil || !apihelpers.IsCRDConditionTrue(is, apiextensionsv1.Established) {
			return false, err
		}
		for _, version := range crds.Served(is) {
			if _, err := r.objects.Resource((&target{is: is}).resource(version)).List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsNotFound(err) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for the CRD %s, which was made, to be served: %w", was.Name, err)
	}
	r.mapper.Reset()
	return is, nil
}
