package optin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/test/builders"
)

const label = `    moult.dev/migrate: "true"`

// crds are three manifests as people write them; nothing but the label may change in what is built of them.
const crds = `# generated
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
  labels: {team: a, app: widgets}
  annotations: {z: "1", a: "2", moult.dev/opt-in: "true"}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions: # the order is ours
    - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, description: "costs ${PRICE}"}}}
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, default: {}, required: []}}}
    - {name: v1alpha1, served: false, storage: false, deprecated: true, schema: {openAPIV3Schema: {type: object, nullable: false}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.example.org
  labels:
    team: a
spec: {group: example.org, versions: [{name: v2}, {name: v1}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: excluded.example.com
  labels:
    moult.dev/migrate: "false"
spec: {group: example.com, versions: [{name: v2}, {name: v1}]}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: beside
  labels: {team: a}
---
apiVersion: example.com/v1
kind: CustomResourceDefinition
metadata:
  name: of-another-group
  labels: {team: a}
`

// built renders a kustomization beside crds.yaml; COMPONENTS in it is the folder of all components.
func built(t *testing.T, kustomization string, o render.Options) string {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	components, err := filepath.Abs("..")
	g.Expect(err).NotTo(HaveOccurred())
	here, err := filepath.EvalSymlinks(dir)
	g.Expect(err).NotTo(HaveOccurred())
	path, err := filepath.Rel(here, components)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(dir, "crds.yaml"), []byte(crds), 0o600)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(strings.ReplaceAll(kustomization, "COMPONENTS", path)), 0o600)).To(Succeed())
	for i := range o.Components {
		o.Components[i] = filepath.Join(path, o.Components[i])
	}
	rendering, err := render.Folder(dir, o)
	g.Expect(err).NotTo(HaveOccurred())
	return builders.YAML(rendering.Objects)
}

const plain = "resources: [crds.yaml]\n"

// patches are the Component's, for tools that cannot reach it.
func patches(g *WithT) []types.Patch {
	var k types.Kustomization
	g.Expect(yaml.Unmarshal(Component, &k)).To(Succeed())
	return k.Patches
}

// onlyLabels checks that taking the label's lines out of one text gives the other, and returns what was labelled.
func onlyLabels(g *WithT, without, with string) []string {
	var kept, labelled []string
	name := ""
	for line := range strings.SplitSeq(with, "\n") {
		if line == label {
			labelled = append(labelled, "")
			continue
		}
		kept = append(kept, line)
		if after, ok := strings.CutPrefix(line, "  name: "); ok {
			name = after
			if n := len(labelled); n > 0 && labelled[n-1] == "" { // metadata.labels stands before metadata.name
				labelled[n-1] = name
			}
		}
	}
	g.Expect(strings.Join(kept, "\n")).To(Equal(without), "the label is all that differs")
	return labelled
}

func TestTheLabelIsTheOnlyLineThatDiffers(t *testing.T) {
	every := []string{"widgets.example.com", "gadgets.example.org"}
	for name, c := range map[string]struct {
		kustomization string
		options       func(*WithT) render.Options
		want          []string
	}{
		"in a kustomization":          {kustomization: plain + "components: [COMPONENTS/opt-in]\n", want: every},
		"as Flux and Argo CD list it": {kustomization: plain, options: func(*WithT) render.Options { return render.Options{Components: []string{"opt-in"}} }, want: every},
		"as their patch":              {kustomization: plain, options: func(g *WithT) render.Options { return render.Options{Patches: patches(g)} }, want: every},
		"by annotation":               {kustomization: plain + "components: [COMPONENTS/opt-in-annotated]\n", want: every[:1]},
		"twice":                       {kustomization: plain + "components: [COMPONENTS/opt-in, COMPONENTS/opt-in-annotated]\n", want: every},
		"by name, with a copy's target": {kustomization: plain, options: func(g *WithT) render.Options {
			p := patches(g)
			p[0].Target.Name = `.*\.example\.org`
			return render.Options{Patches: p}
		}, want: every[1:]},
		"by name, which is matched whole": {kustomization: plain, options: func(g *WithT) render.Options {
			p := patches(g)
			p[0].Target.Name = `widgets`
			return render.Options{Patches: p}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := render.Options{}
			if c.options != nil {
				o = c.options(g)
			}
			g.Expect(onlyLabels(g, built(t, plain, render.Options{}), built(t, c.kustomization, o))).To(Equal(c.want))
		})
	}
}

// The load restrictions of plain `kustomize build` allow components anywhere, and the Component needs no plug-in.
func TestTheComponentIsAPatchAndNothingElse(t *testing.T) {
	g := NewWithT(t)
	for _, file := range []string{"kustomization.yaml", "../opt-in-annotated/kustomization.yaml"} {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		fields := map[string]any{}
		g.Expect(yaml.Unmarshal(content, &fields)).To(Succeed())
		g.Expect(fields).To(HaveLen(3))
		g.Expect(fields).To(And(HaveKey("patches"), HaveKeyWithValue("kind", "Component"), HaveKeyWithValue("apiVersion", "kustomize.config.k8s.io/v1alpha1")))
	}
}
