package bridge_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/bridge"
	"github.com/moult-dev/moult/test/builders"
)

func widgets() *builders.CRDBuilder { return builders.CRD("example.com", "widgets") }

// shape is what matters of a CRD: "v1 served stored" and so on.
func shape(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var all []string
	for _, v := range crd.Spec.Versions {
		text := v.Name
		if v.Served {
			text += " served"
		}
		if v.Storage {
			text += " stored"
		}
		all = append(all, text)
	}
	return all
}

func TestABridgeHasTheVersionsOfBoth(t *testing.T) {
	hook := func(b *builders.CRDBuilder) *builders.CRDBuilder {
		return b.ConversionWebhook("https://widgets.example.com/convert", []byte("ca"))
	}
	for name, c := range map[string]struct {
		base, head *apiextensionsv1.CustomResourceDefinition
		versions   []string
		back       []string
		conversion apiextensionsv1.ConversionStrategyType
		notes      []string
	}{
		"the storage version is new": {
			base: widgets().Versions("v1alpha1").Build(), head: widgets().Versions("v1").Build(),
			versions: []string{"v1 served stored", "v1alpha1 served"}, back: []string{"v1alpha1"},
		},
		"two versions are gone, one of them not served": {
			base: widgets().Versions("v1alpha1", "v1beta1", "v1").Storage("v1beta1").Unserved("v1alpha1").Build(), head: widgets().Versions("v1").Build(),
			versions: []string{"v1 served stored", "v1alpha1", "v1beta1 served"}, back: []string{"v1alpha1", "v1beta1"},
		},
		"the new storage version is not served": {
			base: widgets().Versions("v1alpha1").Build(), head: widgets().Versions("v1", "v2").Unserved("v2").Build(),
			versions: []string{"v1 served", "v2 served stored", "v1alpha1 served"}, back: []string{"v1alpha1"},
			notes: []string{
				"v2 is served here, although the new CRD does not serve it: objects are rewritten through it",
			},
		},
		"the new storage version lacks a field": {
			base: widgets().Versions("v1alpha1").Build(), head: widgets().Versions("v1").Schema("v1", "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, parts: {type: array, items: {type: string}}, enabled: {type: boolean}, payload: {type: string}}}}}").Build(),
			versions: []string{"v1 served stored", "v1alpha1 served"}, back: []string{"v1alpha1"},
			notes: []string{"conversion is None, and v1 does not have spec.color of v1alpha1. Objects that use it are not rewritten (FieldsWouldBeLost) before the values are moved or the annotation moult.dev/allow-field-loss lets them go; `moult rehearse` names the objects"},
		},
		"the new CRD converts by a webhook": {
			base: widgets().Versions("v1alpha1").Build(), head: hook(widgets().Versions("v1")).Build(),
			versions: []string{"v1 served stored", "v1alpha1 served"}, back: []string{"v1alpha1"}, conversion: apiextensionsv1.WebhookConverter,
			notes: []string{"the new release's conversion webhook has to know v1alpha1 still; if it does not, run the old release's until the migration is done"},
		},
		"only the old CRD converts by a webhook": {
			base: hook(widgets().Versions("v1alpha1", "v1").Storage("v1alpha1")).Build(), head: widgets().Versions("v1").Build(),
			versions: []string{"v1 served stored", "v1alpha1 served"}, back: []string{"v1alpha1"}, conversion: apiextensionsv1.WebhookConverter,
			notes: []string{"the new CRD has no conversion webhook; here it is the old one's, which has to stay until v1alpha1 is removed"},
		},
		"only the old CRD converts by a webhook, and does not know the new storage version": {
			base: hook(widgets().Versions("v1alpha1")).Build(), head: widgets().Versions("v1").Build(),
			versions: []string{"v1 served stored", "v1alpha1 served"}, back: []string{"v1alpha1"}, conversion: apiextensionsv1.WebhookConverter,
			notes: []string{"the new CRD has no conversion webhook; here it is the old one's, which has to stay until v1alpha1 is removed, and has to know v1, which the old CRD does not have"},
		},
		"somebody has left the new CRD out on purpose": {
			base: widgets().Versions("v1alpha1").Build(), head: widgets().Versions("v1").Label(v1alpha1.MigrateLabel, "false").Build(),
			versions: []string{"v1 served stored", "v1alpha1 served"}, back: []string{"v1alpha1"},
			notes: []string{
				`the new CRD says moult.dev/migrate: "false"; here it is "true", as the objects have to be rewritten`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			base, head := c.base.DeepCopy(), c.head.DeepCopy()
			b, err := bridge.Between(base, head, v1alpha1.MigrateLabel)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(shape(b.CRD)).To(Equal(c.versions))
			g.Expect(b.Back).To(Equal(c.back))
			g.Expect(b.Notes).To(Equal(c.notes))
			g.Expect(b.CRD.Labels).To(HaveKeyWithValue(v1alpha1.MigrateLabel, "true"))
			if c.conversion != "" {
				g.Expect(b.CRD.Spec.Conversion.Strategy).To(Equal(c.conversion))
			} else {
				g.Expect(b.CRD.Spec.Conversion).To(BeNil())
			}
			for _, v := range b.CRD.Spec.Versions {
				from := head
				if slices.Contains(b.Back, v.Name) {
					from = base
				}
				at := slices.IndexFunc(from.Spec.Versions, func(other apiextensionsv1.CustomResourceDefinitionVersion) bool { return other.Name == v.Name })
				g.Expect(v.Schema).To(Equal(from.Spec.Versions[at].Schema), "each version has the schema of the CRD it comes from")
			}
			g.Expect(base).To(Equal(c.base), "what it is made of stays as it is")
			g.Expect(head).To(Equal(c.head), "what it is made of stays as it is")
		})
	}
}

func TestABridgeIsOfTheNewCRD(t *testing.T) {
	g := NewWithT(t)
	base := widgets().Versions("v1alpha1").Annotation("old", "yes").Build()
	head := widgets().Versions("v1").Annotation("argocd.argoproj.io/sync-wave", "3").Label("team", "green").Build()
	head.UID, head.ResourceVersion, head.Status.StoredVersions = "u", "1", []string{"v1"}
	b, err := bridge.Between(base, head, "example.com/migrate")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.CRD.Labels).To(Equal(map[string]string{"team": "green", "example.com/migrate": "true"}))
	g.Expect(b.CRD.Annotations).To(Equal(map[string]string{"argocd.argoproj.io/sync-wave": "3"}))
	g.Expect(b.CRD.UID).To(BeEmpty())
	g.Expect(b.CRD.ResourceVersion).To(BeEmpty())
	g.Expect(b.CRD.Status).To(BeZero(), "what only a cluster says has no place in Git")
}

func TestThereMayBeNothingToBridge(t *testing.T) {
	for name, c := range map[string]struct {
		base, head *apiextensionsv1.CustomResourceDefinition
		says       string
	}{
		"no version is gone": {
			widgets().Versions("v1alpha1", "v1").Build(), widgets().Versions("v1alpha1", "v1", "v2").Build(),
			"widgets.example.com needs no intermediate CRD: the new one has every version of the old one, so it can be applied as it is",
		},
		"the old CRD is one between already": {
			widgets().Versions("v1alpha1", "v1").Build(), widgets().Versions("v1").Build(),
			"widgets.example.com needs no intermediate CRD: the old one has v1alpha1 and stores at v1 already, as the new one does; let the removal wait for a VersionRemoval",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := bridge.Between(c.base, c.head, v1alpha1.MigrateLabel)
			var needless *bridge.NotNeeded
			g.Expect(err).To(MatchError(c.says))
			g.Expect(err).To(BeAssignableToTypeOf(needless))
		})
	}
}

func renamed(change func(*apiextensionsv1.CustomResourceDefinitionNames)) *apiextensionsv1.CustomResourceDefinition {
	crd := widgets().Versions("v1").Build()
	change(&crd.Spec.Names)
	return crd
}

func TestABridgeIsRefusedThatWouldNotHold(t *testing.T) {
	lost := widgets().Versions("v1beta1").Build()
	lost.Status.StoredVersions = []string{"v1alpha1", "v1beta1"}
	none := widgets().Versions("v1").Build()
	none.Spec.Versions[0].Storage = false
	for name, c := range map[string]struct {
		base, head *apiextensionsv1.CustomResourceDefinition
		says       string
	}{
		"neither state knows a stored version": {lost, widgets().Versions("v1").Build(),
			"widgets.example.com has objects stored at v1alpha1, whose schema neither state knows; take the CRD of the release that had it as the old state (--base)"},
		"the scope changes": {widgets().Versions("v1alpha1").Build(), widgets().Versions("v1").ClusterScoped().Build(),
			"widgets.example.com would change its scope from Namespaced to Cluster, which no API server allows; it has to be another CRD"},
		"the kind changes": {widgets().Versions("v1alpha1").Build(), renamed(func(names *apiextensionsv1.CustomResourceDefinitionNames) { names.Kind = "Gadget" }),
			"widgets.example.com would change its kind from Widget to Gadget, which no API server allows; it has to be another CRD"},
		"the plural changes": {widgets().Versions("v1alpha1").Build(), renamed(func(names *apiextensionsv1.CustomResourceDefinitionNames) { names.Plural = "widgetry" }),
			"widgets.example.com would change its plural from widgets to widgetry, which no API server allows; it has to be another CRD"},
		"no version is stored": {widgets().Versions("v1alpha1").Build(), none, "widgets.example.com has no storage version in the new state; fix it first"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := bridge.Between(c.base, c.head, v1alpha1.MigrateLabel)
			g.Expect(err).To(MatchError(c.says))
		})
	}
}

func TestTheHeaderSaysWhatToDo(t *testing.T) {
	g := NewWithT(t)
	b, err := bridge.Between(widgets().Versions("v1alpha1").Build(), widgets().Versions("v1").Build(), v1alpha1.MigrateLabel)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.Header("git:v1:crds", "git:v3:crds")).To(Equal(`# widgets.example.com on the way from git:v1:crds to git:v3:crds: the new CRD, with v1alpha1 put
# back.
#
# 1. Commit this in place of the CRD, without a VersionRemoval, and let it be applied.
# 2. Wait until Moult has rewritten every object at v1: ` + "`moult status`" + ` says Migrated.
# 3. Convert manifests in Git to v1, with this file in place of FILE:
#        moult rewrite . --crds FILE --crd widgets.example.com --from v1alpha1
# 4. Commit the new CRD, and a VersionRemoval for v1alpha1 in an earlier wave or dependency.
`))
}

// On the way back the old release's version is served first: what is stored moves with a commit of its own.
func TestABridgeCanLeaveTheStorageAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		base, head *apiextensionsv1.CustomResourceDefinition
		versions   []string
		notes      []string
	}{
		"the version has left": {
			base: widgets().Versions("v1").Build(), head: widgets().Versions("v1alpha1").Build(),
			versions: []string{"v1alpha1 served", "v1 served stored"},
			notes:    []string{"clients that write whole objects at v1alpha1 drop what only v1 has"},
		},
		"the version is not served": {
			base: widgets().Versions("v1alpha1", "v1").Unserved("v1alpha1").Build(), head: widgets().Versions("v1alpha1").Build(),
			versions: []string{"v1alpha1 served", "v1 served stored"},
			notes:    []string{"clients that write whole objects at v1alpha1 drop what only v1 has"},
		},
		"the older release has the version that is stored, and does not serve it": {
			base: widgets().Versions("v1").Build(), head: widgets().Versions("v1", "v1alpha1").Unserved("v1").Build(),
			versions: []string{"v1 served stored", "v1alpha1 served"},
			notes:    []string{"clients that write whole objects at v1alpha1 drop what only v1 has"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, err := bridge.KeepStorage(c.base, c.head, v1alpha1.MigrateLabel)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(shape(b.CRD)).To(Equal(c.versions))
			g.Expect(b.Notes).To(Equal(c.notes))
			g.Expect(b.CRD.Labels).To(HaveKeyWithValue(v1alpha1.MigrateLabel, "true"))
			g.Expect(b.Header("production", "v1.0.0")).To(ContainSubstring(`
#    Objects stay stored at v1. Then set storage: true at v1alpha1, and false at v1, in a commit of
#    its own.
# 2. Wait until Moult has rewritten every object at v1alpha1`))
		})
	}
	g := NewWithT(t)
	_, err := bridge.KeepStorage(widgets().Versions("v1alpha1", "v1").Build(), widgets().Versions("v1alpha1").Build(), v1alpha1.MigrateLabel)
	g.Expect(err).To(MatchError("widgets.example.com needs no intermediate CRD: the old one serves v1alpha1 already"))
	none := widgets().Versions("v1").Build()
	none.Spec.Versions[0].Storage = false
	_, err = bridge.KeepStorage(none, widgets().Versions("v1alpha1").Build(), v1alpha1.MigrateLabel)
	g.Expect(err).To(MatchError("widgets.example.com has no storage version in the old state; fix it first"))
}

// A version that is served by another schema than the new CRD's is not the one to flip to. What is stored keeps its own schema.
func TestABridgeBesideBringsTheSchemaOfTheNewCRD(t *testing.T) {
	g := NewWithT(t)
	wide := "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, extra: {type: string}}}}}"
	narrow := "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}"
	base := widgets().Versions("v1alpha1", "v1").Schema("v1alpha1", narrow).Schema("v1", wide).Build()
	head := widgets().Versions("v1", "v1alpha1").Schema("v1alpha1", wide).Schema("v1", narrow).Build()
	b, err := bridge.KeepStorage(base, head, v1alpha1.MigrateLabel)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shape(b.CRD)).To(Equal([]string{"v1 served stored", "v1alpha1 served"}))
	g.Expect(b.CRD.Spec.Versions[0].Schema).To(Equal(base.Spec.Versions[1].Schema), "objects are stored at v1")
	g.Expect(b.CRD.Spec.Versions[1].Schema).To(Equal(head.Spec.Versions[1].Schema))
	g.Expect(b.Notes).To(ContainElement("v1 has the schema of the old CRD here, since objects are still stored at it"))
	g.Expect(b.Header("production", "v1.0.0")).To(And(ContainSubstring("the new CRD, which stores at v1"), ContainSubstring("# 3. Commit the new CRD.\n"), Not(ContainSubstring("VersionRemoval for"))))
}
