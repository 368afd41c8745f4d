package rehearse

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// before is what v1alpha1 knows, and after what v1 does: less, with rules.
const (
	before = `{type: object, properties: {spec: {type: object, properties: {
		name: {type: string}, size: {type: integer}, metrics: {type: boolean, default: false}, frozen: {type: boolean},
		auth: {type: object, properties: {clientId: {type: string}}},
		hosts: {type: array, items: {type: object, properties: {name: {type: string}, old: {type: string}}}}}}}}`
	after = `{type: object, properties: {spec: {type: object,
		x-kubernetes-validations: [{rule: "!has(oldSelf.frozen) || !oldSelf.frozen", message: "what is frozen cannot be written"}], properties: {
		name: {type: string, pattern: "^[a-z]*$"}, size: {type: integer, maximum: 10}, frozen: {type: boolean},
		auth: {type: object}, hosts: {type: array, items: {type: object, properties: {name: {type: string}}}}}}}}`
)

// specs are the objects: each tenth has something that does not simply stay.
func spec(i int) map[string]any {
	s := map[string]any{"name": "rose", "size": int64(i % 10)}
	switch i % 10 {
	case 1:
		s["auth"] = map[string]any{"clientId": "x"}
	case 2:
		s["hosts"] = []any{map[string]any{"name": "a"}, map[string]any{"old": "b"}}
	case 3:
		s["metrics"] = true
	case 4:
		s["frozen"] = true
	case 5:
		s["name"] = "Rose 5"
	case 6:
		s["size"] = int64(11)
	}
	return s
}

func schema(g *WithT, text string) *apiextensionsv1.CustomResourceValidation {
	props := &apiextensionsv1.JSONSchemaProps{}
	g.Expect(yaml.Unmarshal([]byte(text), props)).To(Succeed())
	return &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props}
}

// What is rehearsed is what a real API server then does, object by object.
func TestARealAPIServerAgrees(t *testing.T) {
	g := NewWithT(t)
	const n = 100
	group := builders.UniqueGroup(t)
	crd := builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Build()
	crd.Spec.Versions[0].Schema, crd.Spec.Versions[1].Schema = schema(g, before), schema(g, before)
	w := running.Install(t, cp, crd)
	for i := range n {
		_, err := w.Objects("v1alpha1").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": fmt.Sprintf("o%03d", i)}, "spec": spec(i),
		}}, metav1.CreateOptions{})
		g.Expect(err).NotTo(HaveOccurred())
	}
	head := crd.DeepCopy()
	head.Spec.Versions[1].Schema = schema(g, after)
	head.Spec.Versions[0].Storage, head.Spec.Versions[1].Storage = false, true
	head.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
	file := filepath.Join(t.TempDir(), "crd.yaml")
	raw, err := yaml.Marshal(head)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(file, raw, 0o600)).To(Succeed())

	world := suite.Empty(t)
	got := world.Run("rehearse", "--crds", file, "-o", "json")
	g.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	report := conversion.Report{}
	g.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed())
	g.Expect(report.CRDs).To(HaveLen(1))
	of := report.CRDs[0]
	g.Expect(of.ReadAt).To(Equal("v1alpha1"))
	backup := filepath.Join(t.TempDir(), "backup.tar.gz")
	got = world.Run("backup", crd.Name, "-f", backup)
	g.Expect(got.Code).To(BeZero(), got.ErrOut)
	got = suite.Moult.Run(t, "rehearse", "--crds", file, "--objects", backup, "-o", "json")
	g.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	ofBackup := conversion.Report{}
	g.Expect(json.Unmarshal([]byte(got.Out), &ofBackup)).To(Succeed())
	g.Expect(ofBackup).To(Equal(report), "a backup tells what its cluster tells")
	g.Expect(of.Objects).To(BeEquivalentTo(n))
	counts := func(groups []conversion.Group) map[string]int64 {
		all := map[string]int64{}
		for _, group := range groups {
			all[group.What] = group.Objects
		}
		return all
	}
	g.Expect(counts(of.Lost)).To(Equal(map[string]int64{"spec.auth.clientId": 10, "spec.hosts[*].old": 10, "spec.metrics": 10}))
	g.Expect(counts(of.Refused)).To(Equal(map[string]int64{`spec: Invalid value: what is frozen cannot be written`: 10}))
	g.Expect(of.Ratcheted).To(HaveLen(2))

	// The API server's turn: the flip, and a write of each object that changes nothing.
	e, err := conversion.New(head)
	g.Expect(err).NotTo(HaveOccurred())
	was, err := w.Objects("v1alpha1").List(t.Context(), metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	w.Update(func(live *apiextensionsv1.CustomResourceDefinition) { live.Spec = head.Spec })
	g.Expect(builders.WaitServed(t.Context(), cp.Config, w.Live())).To(Succeed())
	g.Eventually(func() error { // until the API server knows the new schema
		_, err := w.Objects("v1").Patch(t.Context(), "o004", types.MergePatchType, []byte(`{"metadata":{"labels":{"moult":"probe"}}}`), metav1.PatchOptions{})
		return err
	}, "30s").Should(MatchError(ContainSubstring("what is frozen cannot be written")))
	for i := range was.Items {
		object := &was.Items[i]
		outcome := e.Rehearse(t.Context(), object.Object)
		now, err := w.Objects("v1").Get(t.Context(), object.GetName(), metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		_, err = w.Objects("v1").Update(t.Context(), now, metav1.UpdateOptions{})
		g.Expect(apierrors.IsInvalid(err)).To(Equal(len(outcome.Refused) > 0), "%s: %v, and rehearsed: %v", object.GetName(), err, outcome)
		if err != nil {
			continue
		}
		back, err := w.Objects("v1alpha1").Get(t.Context(), object.GetName(), metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		was := object.Object["spec"].(map[string]any)
		is := back.Object["spec"].(map[string]any)
		g.Expect(reflect.DeepEqual(is, was)).To(Equal(len(outcome.Lost)+len(outcome.Undefaulted) == 0), "%s: %v, and rehearsed: %v", object.GetName(), is, outcome)
		if _, there := is["metrics"]; there {
			g.Expect(outcome.Undefaulted).To(BeEmpty(), object.GetName())
		}
	}
}

func TestWhatCannotBeRehearsedIsRefused(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		NewWithT(t).Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
		return path
	}
	crd := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").Build()
	crd.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
	raw, err := yaml.Marshal(crd)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	crds := file("crd.yaml", string(raw))
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
	raw, err = yaml.Marshal(crd)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	hooked := file("hooked.yaml", string(raw))
	objects := file("objects.yaml", "apiVersion: example.com/v1alpha1\nkind: Widget\nmetadata: {name: a}\nspec: {payload: p}\n")
	self, err := os.Executable()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"nothing is lost":        {[]string{"--crds", crds, "--objects", objects}, 0, ""},
		"no CRDs":                {nil, cli.ExitError, "name the CRDs with --crds"},
		"a place that is empty":  {[]string{"--crds", crds, "--objects", crds}, cli.ExitError, "there is no object of these CRDs in"},
		"CRDs without a byte":    {[]string{"--crds", file("empty.yaml", "")}, cli.ExitError, "there is no CustomResourceDefinition in " + file("empty.yaml", "")},
		"objects without one":    {[]string{"--crds", crds, "--objects", file("short.yaml", "\n")}, cli.ExitError, "there is no object of these CRDs in " + file("short.yaml", "\n")},
		"a CRD that is not":      {[]string{"--crds", crds, "gadgets.example.com"}, cli.ExitError, "there is no gadgets.example.com"},
		"losses that are broken": {[]string{"--crds", crds, "--objects", objects, "--accept", file("l.yaml", "- crd: x\n")}, cli.ExitError, "entry 1 lacks the crd, the path or the reason"},
		"a webhook that is none": {[]string{"--crds", crds, "--webhook", "localhost"}, cli.ExitError, "is neither a URL nor crd"},
		"a webhook twice":        {[]string{"--crds", crds, "--webhook", "crd", "--webhook-command", "true"}, cli.ExitError, "leave one out"},
		"a CA without a webhook": {[]string{"--crds", crds, "--webhook-ca", crds}, cli.ExitError, "--webhook-ca is for the webhook of --webhook"},
		"no time for a webhook":  {[]string{"--crds", crds, "--webhook-timeout", "0s"}, cli.ExitError, "leaves no time"},
		"a command that ends":    {[]string{"--crds", hooked, "--objects", objects, "--webhook-command", "echo no; exit 1"}, cli.ExitError, `it printed "no"`},
		"a command":              {[]string{"--crds", hooked, "--objects", objects, "--webhook-command", program + "=1 '" + self + "'"}, cli.ExitNotDone, ""},
		"a webhook, not asked":   {[]string{"--crds", hooked, "--objects", objects}, cli.ExitUnknown, ""},
		"no format":              {[]string{"--crds", crds, "-o", "xml"}, cli.ExitError, "xml"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := suite.Moult.Run(t, append([]string{"rehearse"}, c.args...)...)
			g.Expect(got.Code).To(Equal(c.code), got.Out+got.ErrOut)
			g.Expect(got.ErrOut).To(ContainSubstring(c.says))
		})
	}
}
