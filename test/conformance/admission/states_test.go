package admission

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
)

const (
	moult      = "system:serviceaccount:moult-system:moult-controller"
	inTree     = "system:serviceaccount:kube-system:storage-version-migrator-controller"
	inTreeBare = "system:kube-controller-manager"
	person     = "alice"
)

type crd = apiextensionsv1.CustomResourceDefinition

// A state is a CRD that the cases begin with. They are dry runs, so all of them can begin with the same.
type state struct {
	build func(*builders.CRDBuilder) *builders.CRDBuilder
	// then is what is done to the CRD once it is there.
	then []func(t *testing.T, c apiextensions.CustomResourceDefinitionInterface, name string)
}

func opted(b *builders.CRDBuilder) *builders.CRDBuilder { return b.OptedIn() }

func annotated(key, value string) func(*builders.CRDBuilder) *builders.CRDBuilder {
	return func(b *builders.CRDBuilder) *builders.CRDBuilder { return b.OptedIn().Annotation(key, value) }
}

// lenient allows all that an annotation can allow, and spells lists as people do.
func lenient(b *builders.CRDBuilder) *builders.CRDBuilder {
	return b.OptedIn().Annotation("moult.dev/allow-trim", "v0, v1alpha1").Annotation("moult.dev/allow-condition", "VersionsRemovable, StorageMigrated").
		Annotation("moult.dev/allow-storage", "v0, v1beta1").Annotation("moult.dev/allow-removal", "v0, v1beta1")
}

// states all have v1alpha1 and v1, and v1beta1 that is not served. Their name is the plural of the CRD.
var states = map[string]state{
	"fresh":    {build: opted},
	"flipped":  {build: opted, then: steps(flip)},
	"unproved": {build: opted, then: steps(flip, trim)},
	"migrated": {build: opted, then: steps(flip, trim, says(v1alpha1.StorageMigrated, "True", 0))},
	"revoked":  {build: opted, then: steps(flip, trim, says(v1alpha1.VersionsRemovable, "False", 0))},
	"outdated": {build: opted, then: steps(flip, trim, says(v1alpha1.VersionsRemovable, "True", -1))},
	"safe":     {build: opted, then: steps(flip, trim, says(v1alpha1.StorageMigrated, "True", 0), says(v1alpha1.VersionsRemovable, "True", 0))},
	"foreign":  {build: func(b *builders.CRDBuilder) *builders.CRDBuilder { return b }, then: steps(flip, trim)},
	"leaving":  {build: annotated("moult.dev/allow-opt-out", "leavings."+group)},
	"lenient":  {build: lenient, then: steps(flip)},
	"doomed":   {build: annotated("moult.dev/allow-deletion", "doomeds."+group)},
	"careless": {build: annotated("moult.dev/allow-deletion", "true")},
	"going":    {build: opted, then: steps(begone)},
}

const group = "states.example.com"

func nameOf(state string) string { return state + "s." + group }

var (
	building sync.Mutex
	built    bool
)

// buildStates makes all states, once for all tests. No policy may stand in the way, so it comes before install.
func buildStates(t *testing.T) {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	if built {
		return
	}
	g, c := NewWithT(t), crdClient(t, rest.CopyConfig(cp.Config))
	for name, s := range states {
		b := builders.CRD(group, name+"s").Versions("v1beta1", "v1alpha1", "v1").Storage("v1alpha1").Unserved("v1beta1")
		g.Expect(builders.Install(t.Context(), cp.Config, s.build(b).Build())).To(Succeed())
		for _, step := range s.then {
			step(t, c, nameOf(name))
		}
	}
	built = true
}

func crdClient(t *testing.T, cfg *rest.Config) apiextensions.CustomResourceDefinitionInterface {
	t.Helper()
	c, err := apiextensions.NewForConfig(cfg)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c.CustomResourceDefinitions()
}

type step = func(t *testing.T, c apiextensions.CustomResourceDefinitionInterface, name string)

func steps(s ...step) []func(*testing.T, apiextensions.CustomResourceDefinitionInterface, string) {
	return s
}

func flip(t *testing.T, _ apiextensions.CustomResourceDefinitionInterface, name string) {
	t.Helper()
	NewWithT(t).Expect(builders.FlipStorage(t.Context(), cp.Config, name, "v1")).To(Succeed())
}

func trim(t *testing.T, c apiextensions.CustomResourceDefinitionInterface, name string) {
	t.Helper()
	patchStatus(t, c, name, map[string]any{"storedVersions": []string{"v1"}})
}

// says puts a condition of Moult's on the CRD, about a generation that is off by some.
func says(kind, status string, off int64) step {
	return func(t *testing.T, c apiextensions.CustomResourceDefinitionInterface, name string) {
		t.Helper()
		live, err := c.Get(t.Context(), name, metav1.GetOptions{})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		live.Generation += off
		condition(kind, apiextensionsv1.ConditionStatus(status))(live)
		patchStatus(t, c, name, map[string]any{"conditions": live.Status.Conditions})
	}
}

// sentences are what Moult's conditions say, with nothing about v1beta1.
var sentences = map[string]string{
	v1alpha1.StorageMigrated:   "every object is proved to be stored at v1",
	v1alpha1.VersionsRemovable: "v0, v1alpha1",
}

// begone deletes the CRD and keeps it from going.
func begone(t *testing.T, c apiextensions.CustomResourceDefinitionInterface, name string) {
	t.Helper()
	g := NewWithT(t)
	hold := func(ctx context.Context, finalizers string) error {
		_, err := c.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`), metav1.PatchOptions{})
		return err
	}
	g.Expect(hold(t.Context(), `["example.com/held"]`)).To(Succeed())
	g.Expect(c.Delete(t.Context(), name, metav1.DeleteOptions{})).To(Succeed())
}

func patchStatus(t *testing.T, c apiextensions.CustomResourceDefinitionInterface, name string, status map[string]any) {
	t.Helper()
	g := NewWithT(t)
	body, err := json.Marshal(map[string]any{"status": status})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.Patch(t.Context(), name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
	g.Expect(err).NotTo(HaveOccurred())
}

// What the cases do to a CRD.

type change = func(*crd)

func all(changes ...change) change {
	return func(c *crd) {
		for _, change := range changes {
			change(c)
		}
	}
}

func label(value string) change {
	return func(c *crd) { metav1.SetMetaDataLabel(&c.ObjectMeta, v1alpha1.MigrateLabel, value) }
}

func noLabels(c *crd) { c.Labels = nil }

func noAnnotations(c *crd) { c.Annotations = nil }

func annotate(key, value string) change {
	return func(c *crd) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value) }
}

func storedVersions(versions ...string) change {
	return func(c *crd) { c.Status.StoredVersions = versions }
}

// condition sets one for the CRD's present generation, and takes it away if its status is empty.
func condition(kind string, status apiextensionsv1.ConditionStatus) change {
	return func(c *crd) {
		said := apiextensionsv1.CustomResourceDefinitionCondition{
			Type: apiextensionsv1.CustomResourceDefinitionConditionType(kind), Status: status, Reason: "Said",
			Message: v1alpha1.Message(c.Generation, sentences[kind]), LastTransitionTime: metav1.Now(),
		}
		c.Status.Conditions = slices.DeleteFunc(c.Status.Conditions, func(o apiextensionsv1.CustomResourceDefinitionCondition) bool { return o.Type == said.Type })
		if status != "" {
			c.Status.Conditions = append(c.Status.Conditions, said)
		}
	}
}

// inTreeSays is the in-tree migrator's condition at the end of a migration.
func inTreeSays(reason string) change {
	return func(c *crd) {
		condition("StorageMigrating", "False")(c)
		c.Status.Conditions[len(c.Status.Conditions)-1].Reason = reason
	}
}

// sayMore and reword change nothing of a condition but its message.
func sayMore(kind, more string) change {
	return message(kind, func(said string) string { return said + more })
}

func reword(kind, from, to string) change {
	return message(kind, func(said string) string { return strings.Replace(said, from, to, 1) })
}

func message(kind string, change func(string) string) change {
	return func(c *crd) {
		for i := range c.Status.Conditions {
			if string(c.Status.Conditions[i].Type) == kind {
				c.Status.Conditions[i].Message = change(c.Status.Conditions[i].Message)
			}
		}
	}
}

func noConditions(c *crd) { c.Status.Conditions = nil }

func storeAt(version string) change {
	return func(c *crd) {
		for i := range c.Spec.Versions {
			c.Spec.Versions[i].Storage = c.Spec.Versions[i].Name == version
		}
	}
}

func serve(version string, served bool) change {
	return func(c *crd) {
		for i := range c.Spec.Versions {
			if c.Spec.Versions[i].Name == version {
				c.Spec.Versions[i].Served = served
			}
		}
	}
}

func add(version string) change {
	return func(c *crd) {
		v := c.Spec.Versions[0].DeepCopy()
		v.Name, v.Served, v.Storage = version, true, false
		c.Spec.Versions = append(c.Spec.Versions, *v)
	}
}

func remove(versions ...string) change {
	return func(c *crd) {
		c.Spec.Versions = slices.DeleteFunc(c.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return slices.Contains(versions, v.Name)
		})
	}
}

// rename makes the CRD one that is not there yet.
func rename(plural string) change {
	return func(c *crd) {
		c.ObjectMeta = metav1.ObjectMeta{Name: plural + "." + group, Labels: c.Labels, Annotations: c.Annotations}
		singular := strings.TrimSuffix(plural, "s")
		c.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: singular, Kind: singular, ListKind: singular + "list"}
	}
}
