package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// The fields that objects lose, whatever the two schemas are, are those that are missing from the bytes in etcd after an API server
// has stored the objects at the other version.
func TestFieldsAreLostAsAnAPIServerLosesThem(t *testing.T) {
	t.Parallel()
	const pairs, objects = 24, 8
	seen := make(chan counts, pairs)
	t.Run("pairs", func(t *testing.T) {
		for i := range pairs {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				pair := example(i, func(rt *rapid.T) [2]apiextensionsv1.JSONSchemaProps {
					old := builders.AnySchema(rt, "old")
					return [2]apiextensionsv1.JSONSchemaProps{old, builders.Successor(rt, old)}
				})
				var contents []any
				for j := range objects {
					contents = append(contents, example(i*objects+j, func(rt *rapid.T) any { return builders.ContentOf(rt, pair[0]) }))
				}
				seen <- loseAgainstAPIServer(t, pair, contents)
			})
		}
	})
	close(seen)
	var all counts
	for c := range seen {
		all.kept, all.lost = all.kept+c.kept, all.lost+c.lost
	}
	g := NewWithT(t)
	g.Expect(all.kept).To(BeNumerically(">", pairs), "objects that lose nothing")
	g.Expect(all.lost).To(BeNumerically(">", pairs/3), "objects that lose something")
}

// Metadata of what becomes an embedded resource are pruned, as no pair of schemas that name them shows.
func TestMetadataOfWhatBecomesAnEmbeddedResourceIsLost(t *testing.T) {
	t.Parallel()
	const open = `o: {type: object, x-kubernetes-preserve-unknown-fields: true`
	var pair [2]apiextensionsv1.JSONSchemaProps
	for i, o := range []string{open + `}`, open + `, x-kubernetes-embedded-resource: true}`} {
		raw, err := json.Marshal(objectOf(NewWithT(t), `{type: object, properties: {`+o+`}}`))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(json.Unmarshal(raw, &pair[i])).To(Succeed())
	}
	var contents []any
	for _, text := range []string{
		`o: {apiVersion: v1, kind: Pod, metadata: {name: x, creationTimestamp: null}, spec: {a: b}}`,
		`o: {apiVersion: v1, kind: Pod, metadata: {name: x, team: red}}`,
		`o: {apiVersion: v1, kind: Pod, metadata: {name: x, labels: {}, finalizers: [], generation: 0}}`,
		`o: {apiVersion: v1, kind: Pod, metadata: {name: x, creationTimestamp: "2020-01-01T00:00:00.5Z"}}`,
		`o: {apiVersion: v1, kind: Pod, metadata: {name: x, ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: u, since: z}]}}`,
		`o: {apiVersion: v1, kind: Pod, metadata: {name: x, labels: {a: 1}}}`,
		`o: {apiVersion: 1, kind: Pod, metadata: {name: x, team: red}}`,
	} {
		contents = append(contents, objectOf(NewWithT(t), text))
	}
	NewWithT(t).Expect(loseAgainstAPIServer(t, pair, contents)).To(Equal(counts{kept: 1, lost: 4}))
}

// A null stays where no schema is about it. Where one is, a default takes its place, or a map loses the key.
func TestANullThatNoSchemaIsAboutIsLostToOne(t *testing.T) {
	t.Parallel()
	const keeps = `x-kubernetes-preserve-unknown-fields: true`
	for name, c := range map[string]struct{ old, now, content string }{
		"a field where all is kept": {`o: {type: object, ` + keeps + `}`, `o: {type: object, ` + keeps + `, properties: {a: {` + keeps + `, default: x}}}`, `o: {a: null}`},
		"a key where all is kept":   {`o: {type: object, ` + keeps + `}`, `o: {type: object, additionalProperties: {type: string}}`, `o: {a: null}`},
		"a key of a map":            {`o: {type: object, additionalProperties: true}`, `o: {type: object, additionalProperties: {type: string, default: x}}`, `o: {a: null}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pair [2]apiextensionsv1.JSONSchemaProps
			for i, o := range []string{c.old, c.now} {
				raw, err := json.Marshal(objectOf(NewWithT(t), `{type: object, properties: {`+o+`}}`))
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
				NewWithT(t).Expect(json.Unmarshal(raw, &pair[i])).To(Succeed())
			}
			NewWithT(t).Expect(loseAgainstAPIServer(t, pair, []any{objectOf(NewWithT(t), c.content)})).To(Equal(counts{lost: 1}))
		})
	}
}

// counts are the objects that keep all and those that lose something; the API server refuses the rest.
type counts struct{ kept, lost int }

func loseAgainstAPIServer(t *testing.T, pair [2]apiextensionsv1.JSONSchemaProps, contents []any) (seen counts) {
	t.Helper()
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Build()
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Schema.OpenAPIV3Schema = &pair[i]
	}
	g, w := NewWithT(t), running.Install(t, cp, crd)
	was := map[string]*unstructured.Unstructured{}
	for i, content := range contents {
		object := &unstructured.Unstructured{Object: content.(map[string]any)} //nolint:forcetypeassert // objects have fields
		object.SetAPIVersion(crd.Spec.Group + "/v1alpha1")
		object.SetKind("Widget")
		object.SetName(fmt.Sprintf("o%d", i))
		created, err := w.Objects("v1alpha1").Create(t.Context(), object, metav1.CreateOptions{})
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			continue // metadata that no embedded resource may have
		}
		g.Expect(err).NotTo(HaveOccurred())
		was[object.GetName()] = created
	}
	w.Flip("v1")
	flipped := w.Live()
	finder, err := crdschema.Of(flipped)
	g.Expect(err).NotTo(HaveOccurred())
	reads, err := crdschema.VersionOf(flipped, "v1alpha1")
	g.Expect(err).NotTo(HaveOccurred())
	stores, err := crdschema.VersionOf(flipped, "v1")
	g.Expect(err).NotTo(HaveOccurred())
	for name, before := range was {
		lost, err := finder.Lost(before.Object, "v1alpha1")
		g.Expect(err).NotTo(HaveOccurred())
		stored, refused := storeAtV1(t, g, w, name)
		if refused != nil {
			if !apierrors.IsInvalid(refused) { // nothing can be read, let alone stored
				g.Expect(lost).To(BeEmpty(), refused.Error())
			}
			continue
		}
		change := crdschema.ChangeOf(contentOf(before.Object), contentOf(stored))
		var missing []string
		gone := slices.DeleteFunc(change.Lost, func(p crdschema.Path) bool { return reads.IsAbsent(before.Object, p, stores) })
		for _, path := range slices.Concat(gone, change.Changed) {
			if !reads.IsDefault(before.Object, path) {
				missing = append(missing, crdschema.AnyItem(path.String()))
			}
		}
		said := fmt.Sprintf("%s\n%s\nlost: %v, missing: %v", bytesOf(before.Object), bytesOf(stored), lost, missing)
		for _, path := range missing {
			g.Expect(crdschema.Allows(lost, path)).To(BeTrue(), "%s is lost and not named: %s", path, said)
		}
		for _, pattern := range lost {
			g.Expect(slices.ContainsFunc(missing, func(path string) bool { return crdschema.Allows([]string{pattern}, path) })).To(BeTrue(), "%s is there: %s", pattern, said)
			g.Expect(crdschema.Allows(finder.Lacking("v1alpha1"), pattern)).To(BeTrue(), "%s is not lacking: %s", pattern, said)
		}
		if len(lost) > 0 {
			seen.lost++
		} else {
			seen.kept++
		}
	}
	return seen
}

// storeAtV1 is what etcd has of an object then, or what the API server says against it.
func storeAtV1(t *testing.T, g *WithT, w *running.Witness, name string) (stored map[string]any, refused error) {
	t.Helper()
	g.Eventually(func(g Gomega) {
		if _, refused = w.Objects("v1").Patch(t.Context(), name, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}); refused != nil {
			g.Expect(apierrors.IsInvalid(refused) || apierrors.IsInternalError(refused)).To(BeTrue(), refused.Error())
			return
		}
		raw, err := cp.Etcd().Raw(t.Context(), w.GR, "default", name)
		g.Expect(err).NotTo(HaveOccurred())
		stored = map[string]any{}
		g.Expect(utiljson.Unmarshal(raw, &stored)).To(Succeed())
		g.Expect(stored).To(HaveKeyWithValue("apiVersion", w.GR.Group+"/v1"))
	}, "30s", "100ms").Should(Succeed())
	return stored, refused
}

// contentOf is an object without what each write changes.
func contentOf(object map[string]any) map[string]any {
	content := map[string]any{}
	for name, value := range object {
		if name != "apiVersion" && name != "metadata" {
			content[name] = value
		}
	}
	return content
}

// example is what is drawn with a seed.
func example[T any](seed int, draw func(*rapid.T) T) T {
	return rapid.Custom(func(rt *rapid.T) T {
		rapid.Bool().Draw(rt, "a generator draws something")
		return draw(rt)
	}).Example(seed)
}
