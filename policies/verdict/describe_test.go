package verdict

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
)

// What is judged is the CRD as it is, and each fact of it by itself.
func TestWhatIsReadOfACRD(t *testing.T) {
	type crd = apiextensionsv1.CustomResourceDefinition
	annotate := func(key, value string) func(*crd) {
		return func(c *crd) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value) }
	}
	for name, c := range map[string]struct {
		change func(*crd)
		groups []string
		want   func(*CRD)
	}{
		"nothing but its versions": {},
		"it is being deleted": {
			change: func(c *crd) { c.DeletionTimestamp = &metav1.Time{Time: now} }, want: func(d *CRD) { d.Deleting = true }},
		"its deletion waits": {
			change: func(c *crd) {
				c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: now}, []string{apiextensionsv1.CustomResourceCleanupFinalizer, "example.com/waits"}
			}, want: func(d *CRD) { d.Deleting, d.WaitsFor = true, []string{"example.com/waits"} }},
		"it has a finalizer": {change: func(c *crd) { c.Finalizers = []string{"example.com/waits"} }},
		"it is opted in": {
			change: func(c *crd) { metav1.SetMetaDataLabel(&c.ObjectMeta, v1alpha1.MigrateLabel, "true") },
			want:   func(d *CRD) { d.OptedIn, d.LabelOrigin.Origin = true, labelorigin.Unknown }},
		"another value of the label is no opt-in": {
			change: func(c *crd) { metav1.SetMetaDataLabel(&c.ObjectMeta, v1alpha1.MigrateLabel, "yes") }},
		"its owner references may be moved": {
			change: annotate(v1alpha1.RepairOwnersAnnotation, "true"), want: func(d *CRD) { d.RepairsOwners = true }},
		"its stashed copies may be moved": {
			change: annotate(v1alpha1.MigrateStashesAnnotation, "true"), want: func(d *CRD) { d.MigratesStashes = true }},
		"its backup cannot be read": {
			change: annotate(v1alpha1.BackupAnnotation, "yesterday"), want: func(d *CRD) { d.Backup.Garbled = true }},
		"its group is among those that are looked after": {groups: []string{"apps.example.org", "example.com"}},
		"its group is another controller's":              {groups: []string{"apps.example.org"}, want: func(d *CRD) { d.InScope = false }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			given := &crd{ObjectMeta: metav1.ObjectMeta{Name: widgets, UID: "u", Generation: 3, ResourceVersion: "9"}}
			given.Spec.Group = "example.com"
			given.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1"}, {Name: "v1", Served: true, Storage: true}}
			given.Status.StoredVersions = []string{"v1alpha1", "v1"}
			want := &CRD{Subject: v1, ResourceVersion: "9", InScope: true, Versions: []Version{{"v1alpha1", false}, {"v1", true}}, StoredVersions: []string{"v1alpha1", "v1"}}
			want.LabelOrigin.Origin = labelorigin.None
			if c.change != nil {
				c.change(given)
			}
			if c.want != nil {
				c.want(want)
			}
			got := Describe(given, v1alpha1.MigrateLabel, c.groups)
			got.LabelOrigin.Owner, got.LabelOrigin.Why = "", "" // labelorigin's own
			g.Expect(got).To(Equal(want))
		})
	}
}
