package chart

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

// files are what Helm renders of the chart, by the names of the templates.
func files(g Gomega, namespace string, with values) map[string]string {
	chart, err := loader.Load(".")
	g.Expect(err).NotTo(HaveOccurred())
	all, err := util.ToRenderValues(chart, with, common.ReleaseOptions{Name: "moult", Namespace: namespace, IsInstall: true}, common.DefaultCapabilities)
	g.Expect(err).NotTo(HaveOccurred())
	rendered, err := engine.Render(chart, all)
	g.Expect(err).NotTo(HaveOccurred())
	short := map[string]string{}
	for name, text := range rendered {
		short[strings.TrimPrefix(name, "moult/templates/")] = text
	}
	return short
}

func resources(names ...any) values {
	return values{"resources": []any{values{"group": "a.example.com", "resources": names}}}
}

// What a template has only where a value asks for it. That each Component is one of these is compared in chart_test.go.
func TestWhatIsThereOnlyIfAValueAsksForIt(t *testing.T) {
	ours := values{"repository": "r.example.com/moult-controller"}
	const noImage, noRights = "No registry has this image", "It may not rewrite any custom resource yet"
	for name, c := range map[string]struct {
		values values
		file   string
		want   types.GomegaMatcher
	}{
		"notes ask for an image and for rights": {nil, "NOTES.txt", And(ContainSubstring("namespace moult-system"), ContainSubstring(noImage), ContainSubstring(noRights))},
		"with an image only for rights":         {values{"image": ours}, "NOTES.txt", And(Not(ContainSubstring(noImage)), ContainSubstring(noRights))},
		"with rights only for an image":         {values{"migrate": resources("widgets")}, "NOTES.txt", And(ContainSubstring(noImage), Not(ContainSubstring(noRights)))},
		"with all rights neither":               {values{"image": ours, "allCustomResources": true}, "NOTES.txt", Not(Or(ContainSubstring(noImage), ContainSubstring(noRights)))},
		"notes name the release's namespace":    {values{"namespace": ""}, "NOTES.txt", ContainSubstring("namespace platform")},
		"no role without resources":             {nil, "objects.yaml", Not(ContainSubstring("kind:"))},
		"a role for objects alone":              {values{"migrate": resources("widgets")}, "objects.yaml", And(ContainSubstring("kind: ClusterRole"), ContainSubstring("[get, list, patch]"), Not(ContainSubstring("[patch]")))},
		"a role for a status alone":             {values{"migrate": resources("widgets/status")}, "objects.yaml", And(ContainSubstring("[patch]"), Not(ContainSubstring("[get")))},
		"a role for both": {values{"migrate": resources("widgets", "widgets/status")}, "objects.yaml", And(
			MatchRegexp(`resources: \["widgets"\]\n\s+verbs: \[get, list, patch\]`), MatchRegexp(`resources: \["widgets/status"\]\n\s+verbs: \[patch\]`))},
		"a second installation's role is its own": {values{"namePrefix": "our-", "migrate": resources("widgets")}, "objects.yaml", And(
			ContainSubstring("name: our-moult-controller-objects"), ContainSubstring("aggregate-to: our-moult-controller\n"))},
		"the Namespace, where the release lies elsewhere": {nil, "generated/controller.yaml", ContainSubstring("kind: Namespace")},
		"no Namespace, where the release lies in it":      {values{"namespace": "platform"}, "generated/controller.yaml", Not(ContainSubstring("kind: Namespace"))},
		"the CRD":                                          {nil, "generated/crds.yaml", ContainSubstring("kind: CustomResourceDefinition")},
		"no CRD for a second installation":                 {values{"crds": values{"enabled": false}}, "generated/crds.yaml", Not(ContainSubstring("kind:"))},
		"no flag that no value asks for":                   {nil, "generated/controller.yaml", Not(Or(ContainSubstring("--nudge"), ContainSubstring("--references"), ContainSubstring("--label-key"), ContainSubstring("--gate-namespaces"), ContainSubstring("imagePullSecrets")))},
		"the flag of a Component, and not its neighbour's": {values{"nudge": true}, "generated/controller.yaml", And(ContainSubstring("--nudge"), Not(ContainSubstring("--references")))},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			all := files(g, "platform", c.values)
			g.Expect(all).To(HaveKey(c.file))
			g.Expect(all[c.file]).To(c.want)
		})
	}
}
