package desired_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/desired"
)

// saying is a file of values that says that it was there, and whether it was the last.
func saying(name string) string { return fmt.Sprintf("x: %[1]s\nfiles: {%[1]s: there}\n", name) }

// sayings are a chart whose ConfigMap says which files of values there were, and many of these.
var sayings = files{
	"charts/c/Chart.yaml":       "apiVersion: v2\nname: c\nversion: 1.0.0\n",
	"charts/c/templates/x.yaml": configMap("m", "x: {{ .Values.x | quote }}", "w: {{ .Values.files | default dict | keys | sortAlpha | join \"+\" | quote }}"),
	"charts/c/one.yaml":         saying("one"), "charts/c/two.yaml": saying("two"), "charts/c/own/values-own.yaml": saying("own"),
	"envs/a.yaml": saying("a"), "envs/b.yaml": saying("b"), "envs/.c.yaml": saying("c"), "envs/values-u.yaml": saying("u"),
	"envs/deep/d.yaml": saying("d"), "envs/deep/values-z.yaml": saying("z"), "folders/f.yaml/x": "", "module/x.yaml": saying("module"),
}

func TestArgoCDTakesFilesOfValuesByAPattern(t *testing.T) {
	const ours, canBeMissing = "repoURL: 'https://git/ours'", ", ignoreMissingValueFiles: true"
	for name, c := range map[string]struct{ files, more, want string }{
		"all of a folder, in their order":     {"/envs/?.yaml", "", "b a+b"},
		"relative to the chart":               {"../../envs/?.yaml", "", "b a+b"},
		"of any depth":                        {"/envs/**/values-*.yaml", "", "z u+z"},
		"of any depth below the chart":        {"one.yaml **/values-*.yaml", "", "own one+own"},
		"those with a dot are files, too":     {"/envs/*.yaml", "", "u a+b+c+u"},
		"alternatives":                        {"/envs/{b,a}*.yaml", "", "b a+b"},
		"alternatives alone are no pattern":   {"/envs/{b,a}.yaml", "", "!there is no file of values envs/{b,a}.yaml"},
		"a class":                             {"/envs/[!.b].yaml", "", "a a"},
		"one that is named keeps its place":   {"/envs/b.yaml /envs/?.yaml", "", "a a+b"},
		"one that is named behind, too":       {"/envs/?.yaml /envs/a.yaml", "", "a a+b"},
		"a pattern behind adds what is new":   {"/envs/?.yaml one.yaml /envs/[ab].yaml", "", "one a+b+one"},
		"a file that is named twice is first": {"one.yaml two.yaml one.yaml", "", "two one+two"},
		"with $ref":                           {"$v/envs/?.yaml", "", "b a+b"},
		"with a variable of the build":        {"/envs/${ARGOCD_APP_NAME}?yaml", "", "a a"},
		"no file":                             {"/envs/none-*.yaml", "", "!there are no files of values /envs/none-*.yaml"},
		"no file, and that may be":            {"/envs/none-*.yaml one.yaml two.yaml", canBeMissing, "two one+two"},
		"a folder that is not there":          {"/none/**/*.yaml one.yaml two.yaml", canBeMissing, "two one+two"},
		"a pattern that is none":              {"/envs/[a.yaml", "", "!syntax error in pattern"},
		"files outside":                       {"../../../*.yaml", "", "!the file ../../../*.yaml: it is outside of the repository"},
		"files outside, in a roundabout way":  {"/envs/**/../../../*.yaml", "", "!it is outside of the repository"},
		"one outside, which is not missing":   {"../../../x.yaml", canBeMissing, "!the file ../../../x.yaml: it is outside of the repository"},
		"folders match, too, and Helm fails":  {"/folders/*.yaml", canBeMissing, "!there is no file of values folders/f.yaml"},
		"a link is what it leads to":          {"/links/to-*.yaml", "", "a a"},
		"a link that is named is its target":  {"/envs/?.yaml /links/to-a.yaml", "", "a a+b"},
		"a link out of the repository":        {"/links/out-*.yaml", canBeMissing, "!there is no file of values links/out-x.yaml"},
		"one that is named":                   {"/links/out-x.yaml", canBeMissing, "!the file /links/out-x.yaml: it is outside of the repository"},
		"a linked folder out of it":           {"/links/folder*/*.yaml", canBeMissing, "!path escapes from parent"},
		"links that lead back":                {"/loops/**/*.yaml", canBeMissing, "!too many levels of symbolic links"},
		"a submodule":                         {"/module/deep/*.yaml", "", "!the files /module/deep/*.yaml may be in the submodule module"},
		"a submodule among others":            {"/**/x*.yaml", "", "!the files /**/x*.yaml may be in the submodule module"},
		"a template":                          {"/envs/{{env}}.yaml", canBeMissing, "!the file /envs/{{env}}.yaml is a template"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			valueFiles, err := json.Marshal(strings.Fields(c.files))
			g.Expect(err).NotTo(HaveOccurred())
			tree := opened(t, with(sayings, files{
				"entry/a.yaml": app("a", "sources: [{path: charts/c, "+ours+", helm: {valueFiles: "+string(valueFiles)+c.more+"}}, {ref: v, "+ours+"}]"),
			}))
			tree.Submodules = map[string]string{"module": "0123"}
			for link, target := range map[string]string{
				"links/to-a.yaml": "../envs/a.yaml", "links/out-x.yaml": "../../x.yaml", "links/folder": "../..", "loops/back": ".", "loops/again": ".", "envs/deep/nowhere": "none",
			} {
				file := filepath.Join(tree.Root, link)
				g.Expect(os.MkdirAll(filepath.Dir(file), 0o750)).To(Succeed())
				g.Expect(os.Symlink(target, file)).To(Succeed())
			}
			cluster, err := desired.Follow(t.Context(), tree, "entry", desired.Options{})
			g.Expect(err).NotTo(HaveOccurred())
			if reason, is := strings.CutPrefix(c.want, "!"); is {
				g.Expect(unseen(cluster)).To(ContainElement(ContainSubstring(reason)))
				return
			}
			g.Expect(unseen(cluster)).To(BeEmpty(), "nothing is taken from the submodule")
			g.Expect(brought(cluster)).To(Equal(strings.TrimSpace(c.want)))
		})
	}
}

func TestAPatternInTheNameOfAChartsFolderCounts(t *testing.T) {
	g := NewWithT(t)
	cluster := followed(t, with(sayings, files{
		"entry/a.yaml": app("a", "source: {path: 'charts/[c]', helm: {valueFiles: [two.yaml, one.yaml]}}"), "charts/[c]/Chart.yaml": sayings["charts/c/Chart.yaml"],
		"charts/[c]/templates/x.yaml": sayings["charts/c/templates/x.yaml"], "charts/[c]/one.yaml": saying("own"), "charts/[c]/two.yaml": saying("own"),
	}))
	g.Expect(unseen(cluster)).To(BeEmpty())
	g.Expect(brought(cluster)).To(Equal("one one+two"))
}
