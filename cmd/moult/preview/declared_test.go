package preview

import (
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

// An example of Argo CD in an operator's repository is found as an entry point, and does not lead to the operator's CRDs.
func TestACRDThatNoFoundEntryPointBringsIsCompared(t *testing.T) {
	less := strings.Replace(widgetsCRD, "  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n", "", 1)
	more := strings.Replace(widgetsCRD, "schema: {openAPIV3Schema: {type: object}}}\n", "schema: {openAPIV3Schema: {type: object, properties: {x: {type: string}}}}}\n", 1)
	for name, c := range map[string]struct {
		base, head map[string]string
		args       []string
		code       int
		says       string
	}{
		"a version that leaves":                      {head: map[string]string{"c/crds/w.yaml": less}, code: cli.ExitUnknown, says: "v1alpha1 of widgets.example.com"},
		"a CRD that leaves":                          {head: map[string]string{"c/crds/w.yaml": "# none\n"}, code: cli.ExitUnknown, says: "widgets.example.com"},
		"a field that comes":                         {head: map[string]string{"c/crds/w.yaml": more}, code: cli.ExitDone, says: "FieldAdded"},
		"what changes nothing":                       {head: map[string]string{"c/crds/w.yaml": "# it\n" + widgetsCRD}, code: cli.ExitDone, says: "no CRD changes"},
		"a version of a file at the root":            {base: map[string]string{"w.yaml": strings.ReplaceAll(widgetsCRD, "idget", "adget")}, head: map[string]string{"w.yaml": strings.ReplaceAll(less, "idget", "adget")}, code: cli.ExitUnknown, says: "v1alpha1 of wadgets.example.com"},
		"one for reading":                            {base: map[string]string{"docs/w.yaml": widgetsCRD}, head: map[string]string{"docs/w.yaml": less}, code: cli.ExitDone, says: "no CRD changes"},
		"one of others":                              {base: map[string]string{"vendor/w.yaml": widgetsCRD}, head: map[string]string{"vendor/w.yaml": less}, code: cli.ExitDone, says: "no CRD changes"},
		"one that is brought as well":                {base: map[string]string{"apps/w.yaml": widgetsCRD}, head: map[string]string{"apps/w.yaml": more}, code: cli.ExitDone, says: "seen from 1 cluster"},
		"one that changes, and is brought as it was": {base: map[string]string{"apps/w.yaml": widgetsCRD}, head: map[string]string{"c/crds/w.yaml": less}, code: cli.ExitUnknown, says: "v1alpha1 of widgets.example.com"},
		"one that is left out":                       {base: map[string]string{"apps/kustomization.yaml": "resources: [it.yaml]\n", "apps/w.yaml": widgetsCRD}, head: map[string]string{"apps/kustomization.yaml": "resources: [it.yaml]\n", "apps/w.yaml": less}, code: cli.ExitDone, says: "no CRD changes"},
		"entry points that are named":                {head: map[string]string{"c/crds/w.yaml": less}, args: []string{"--entry", "examples/argocd"}, code: cli.ExitDone, says: "no CRD changes"},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"hack/argocd/app.yaml": appsKustomization, "examples/argocd/app.yaml": appsKustomization, "apps/it.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: it}\n", "c/crds/w.yaml": widgetsCRD}
			maps.Copy(all, c.base)
			g := clitest.InRepository(t, bothSides(all, nil, c.head))
			code, out, errOut := previewed(t, append([]string{"--base", "base", "--head", "head"}, c.args...)...)
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(c.says))
		})
	}
}
