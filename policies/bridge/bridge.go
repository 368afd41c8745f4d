package bridge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/words"
)

// Bridge is an intermediate CRD.
type Bridge struct {
	CRD *apiextensionsv1.CustomResourceDefinition
	// Back are the versions that were put back, in the order of the old CRD.
	Back []string
	// Storage is the version that objects are rewritten at.
	Storage string
	// Kept is the version that objects stay stored at until a commit of its own flips to Storage; empty if this CRD flips.
	Kept string
	// Notes are what a person should know about it, each a sentence without a full stop.
	Notes []string
}

// NotNeeded is the error when there is nothing to bridge.
type NotNeeded struct {
	CRD, Why string
}

func (e *NotNeeded) Error() string { return e.CRD + " needs no intermediate CRD: " + e.Why }

// Between makes the CRD to be applied between base, which is what a cluster has, and head, which is what it is to get.
// Base may be of Git or of the cluster; of the cluster, its status shows what is stored. LabelKey is the opt-in label.
func Between(base, head *apiextensionsv1.CustomResourceDefinition, labelKey string) (*Bridge, error) {
	return between(base, head, labelKey, "")
}

// KeepStorage makes the one before Between's: it has the same versions, and objects stay stored as they are. So clients of the new
// storage version can be tried before the flip.
func KeepStorage(base, head *apiextensionsv1.CustomResourceDefinition, labelKey string) (*Bridge, error) {
	kept := crds.StorageVersion(base)
	if kept == "" {
		return nil, fmt.Errorf("%s has no storage version in the old state; fix it first", base.Name)
	}
	return between(base, head, labelKey, kept)
}

func between(base, head *apiextensionsv1.CustomResourceDefinition, labelKey, kept string) (*Bridge, error) {
	storage := crds.StorageVersion(head)
	if storage == "" {
		return nil, fmt.Errorf("%s has no storage version in the new state; fix it first", head.Name)
	}
	if err := Immutable(base, head); err != nil {
		return nil, err
	}
	if lost := unknown(base, head); len(lost) > 0 {
		return nil, fmt.Errorf("%s has objects stored at %s, whose schema neither state knows; take the CRD of the release that had it as the old state (--base)", head.Name, strings.Join(lost, ", "))
	}
	b := &Bridge{CRD: clean(head), Storage: storage, Kept: kept, Back: crds.Leaving(base, head)}
	for _, name := range b.Back {
		back := *crds.Version(base, name).DeepCopy()
		back.Storage = false
		b.CRD.Spec.Versions = append(b.CRD.Spec.Versions, back)
	}
	if why := needless(base, b); why != "" {
		return nil, &NotNeeded{head.Name, why}
	}
	b.serveStorage()
	b.keep(base)
	b.optIn(head, labelKey)
	b.convert(base, head)
	return b, nil
}

// Immutable is an error if head would change what the API server never lets change.
func Immutable(base, head *apiextensionsv1.CustomResourceDefinition) error {
	was, is := base.Spec, head.Spec
	for _, fixed := range []struct{ what, was, is string }{
		{"scope", string(was.Scope), string(is.Scope)},
		{"kind", was.Names.Kind, is.Names.Kind},
		{"plural", was.Names.Plural, is.Names.Plural},
	} {
		if fixed.was != fixed.is {
			return fmt.Errorf("%s would change its %s from %s to %s, which no API server allows; it has to be another CRD", head.Name, fixed.what, fixed.was, fixed.is)
		}
	}
	return nil
}

// unknown are the stored versions that neither CRD lists.
func unknown(base, head *apiextensionsv1.CustomResourceDefinition) []string {
	return slices.DeleteFunc(slices.Clone(base.Status.StoredVersions), func(name string) bool {
		return crds.Has(base, name) || crds.Has(head, name)
	})
}

// needless is why the new CRD can follow without another in between, empty if it cannot.
func needless(base *apiextensionsv1.CustomResourceDefinition, b *Bridge) string {
	stored := crds.Version(base, b.Storage)
	switch {
	case b.Kept != "" && stored != nil && stored.Served && (b.Kept == b.Storage || SameSchema(base, b.CRD, b.Storage)):
		return fmt.Sprintf("the old one serves %s already", b.Storage)
	case b.Kept != "":
	case len(b.Back) == 0:
		return "the new one has every version of the old one, so it can be applied as it is"
	case crds.StorageVersion(base) == b.Storage:
		return fmt.Sprintf("the old one has %s and stores at %s already, as the new one does; let the removal wait for a VersionRemoval", strings.Join(b.Back, ", "), b.Storage)
	}
	return ""
}

// serveStorage: Moult writes at the storage version, so it has to be served.
func (b *Bridge) serveStorage() {
	if v := crds.Version(b.CRD, b.Storage); !v.Served {
		v.Served = true
		b.Notes = append(b.Notes, fmt.Sprintf("%s is served here, although the new CRD does not serve it: objects are rewritten through it", b.Storage))
	}
}

// SameSchema reports whether two CRDs have the same schema at a version that both list.
func SameSchema(one, other *apiextensionsv1.CustomResourceDefinition, version string) bool {
	read := func(crd *apiextensionsv1.CustomResourceDefinition) (schema any) {
		text, _ := json.Marshal(crds.Version(crd, version).Schema) // it was JSON or YAML
		_ = json.Unmarshal(text, &schema)
		return schema
	}
	return reflect.DeepEqual(read(one), read(other))
}

// keep has objects stay stored as they are, and so by the schema that they were stored by.
func (b *Bridge) keep(base *apiextensionsv1.CustomResourceDefinition) {
	if b.Kept == "" {
		return
	}
	if b.Kept != b.Storage && !SameSchema(base, b.CRD, b.Kept) {
		crds.Version(b.CRD, b.Kept).Schema = crds.Version(base, b.Kept).Schema.DeepCopy()
		b.Notes = append(b.Notes, fmt.Sprintf("%s has the schema of the old CRD here, since objects are still stored at it", b.Kept))
	}
	for i := range b.CRD.Spec.Versions {
		v := &b.CRD.Spec.Versions[i]
		v.Storage = v.Name == b.Kept
		v.Served = v.Served || v.Storage
	}
	b.Notes = append(b.Notes, fmt.Sprintf("clients that write whole objects at %s drop what only %s has", b.Storage, b.Kept))
}

func (b *Bridge) optIn(head *apiextensionsv1.CustomResourceDefinition, labelKey string) {
	if value, there := head.Labels[labelKey]; there && value != v1alpha1.MigrateLabelValue {
		b.Notes = append(b.Notes, fmt.Sprintf("the new CRD says %s: %q; here it is %q, as the objects have to be rewritten", labelKey, value, v1alpha1.MigrateLabelValue))
	}
	labels := maps.Clone(head.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelKey] = v1alpha1.MigrateLabelValue
	b.CRD.Labels = labels
}

// convert keeps a webhook if one of the two has one.
func (b *Bridge) convert(base, head *apiextensionsv1.CustomResourceDefinition) {
	back := cmp.Or(strings.Join(b.Back, ", "), b.Kept)
	switch {
	case crds.HasWebhook(head):
		b.Notes = append(b.Notes, fmt.Sprintf("the new release's conversion webhook has to know %s still; if it does not, run the old release's until the migration is done", back))
	case crds.HasWebhook(base):
		b.CRD.Spec.Conversion = base.Spec.Conversion.DeepCopy()
		note := fmt.Sprintf("the new CRD has no conversion webhook; here it is the old one's, which has to stay until %s is removed", back)
		if !crds.Has(base, b.Storage) {
			note += fmt.Sprintf(", and has to know %s, which the old CRD does not have", b.Storage)
		}
		b.Notes = append(b.Notes, note)
	default:
		b.Notes = append(b.Notes, b.lacking()...)
	}
}

// maxFields is how many fields a note names.
const maxFields = 10

// lacking: without a webhook the storage version keeps what it knows.
func (b *Bridge) lacking() (notes []string) {
	finder, err := crdschema.Of(b.CRD)
	if err != nil {
		return []string{fmt.Sprintf("conversion is None, and it is not known which fields %s lacks: %v", b.Storage, err)}
	}
	for _, v := range b.CRD.Spec.Versions {
		fields := slices.DeleteFunc(finder.Lacking(v.Name), crdschema.InStatus)
		if len(fields) == 0 {
			continue
		}
		notes = append(notes, fmt.Sprintf("conversion is None, and %s does not have %s of %s. Objects that use %s are not rewritten (%s) before the values are moved or the annotation %s lets them go; `moult rehearse` names the objects",
			b.Storage, words.Few(fields, maxFields), v.Name, words.Agree(len(fields), "it", "one of them"), v1alpha1.ReasonFieldsWouldBeLost, v1alpha1.AllowFieldLossAnnotation))
	}
	return notes
}

// clean is a CRD without what only a cluster says about it.
func clean(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: crd.Name, Labels: crd.Labels, Annotations: crd.Annotations},
		Spec:       *crd.Spec.DeepCopy(),
	}
}
