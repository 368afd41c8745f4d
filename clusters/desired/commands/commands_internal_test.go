package commands

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// Each variable is looked for in the whole text. A text with very many would take hours.
func TestATextWithManyVariablesCountsAsAWhole(t *testing.T) {
	var text strings.Builder
	for i := range 2 * MostVariables {
		fmt.Fprintf(&text, "V%d = $(V%d)\n", i, i+1)
	}
	g := NewWithT(t)
	lines, _ := Definitions(text.String(), []string{"kubectl apply -f $(V0)"})
	g.Expect(lines).To(Equal(text.String()))
	lines, open := Definitions("V0 = $(V1)/$(V2)\nV1 = x\nother = y\n", []string{"kubectl apply -f $(V0)"})
	g.Expect(lines).To(Equal("V0 = $(V1)/$(V2)\nV1 = x\n"))
	g.Expect(open).To(Equal([]string{"V2"}))
}

// A substitution is a word that is parsed again. Without a bound, this has no end. What is not read counts.
func TestScriptsWithinScriptsAreBounded(t *testing.T) {
	g := NewWithT(t)
	g.Expect(In("a.sh", []byte("run \"$(kubectl get x)\""))).To(Equal(Found{}))
	for _, depth := range []int{60, 3000} {
		deep := strings.Repeat("\"kubectl $(kubectl ", depth) + "x" + strings.Repeat(")\"", depth)
		g.Expect(In("a.sh", []byte(deep)).About).NotTo(BeEmpty())
	}
	within := "kubectl apply -f https://example.com/crds.yaml"
	for range 4 {
		within = "sh -c " + strconv.Quote(within)
	}
	g.Expect(In("a.sh", []byte(within)).About).To(ContainSubstring("https://example.com/crds.yaml"))
}

// What an address in a manifest leads to is not applied with it. One among the arguments is, and a manifest may make another tool apply something.
func TestAddressesInManifestsOfAScriptAreNotApplied(t *testing.T) {
	g := NewWithT(t)
	script := func(arguments, kind string) string {
		return In("a.sh", []byte("cat <<EOF | kubectl create -f -"+arguments+"\napiVersion: example.com/v1\nkind: "+kind+"\nspec:\n  url: https://example.com\nEOF\n")).About
	}
	g.Expect(script("", "Workflow")).To(BeEmpty())
	g.Expect(script(" -f https://example.com/crds.yaml", "Workflow")).NotTo(BeEmpty())
	g.Expect(script("", "Application")).NotTo(BeEmpty())
}

// A variable may have any name, and so may a program that it stands for. A line is read for what it does.
func TestALineIsReadWhateverItsProgramIsCalled(t *testing.T) {
	for _, line := range []string{
		"$(KUBECTL_BIN) create -f https://example.com/crds.yaml", "$(K) replace -f https://example.com/crds.yaml", "$(K) delete crd x", "$(K) patch crd x",
		"kubectl_1.30 create -f https://example.com/crds.yaml",
	} {
		t.Run(line, func(t *testing.T) {
			g := NewWithT(t)
			text := []byte("K := kubectl\nKUBECTL_BIN := $(K)\nup:\n\t" + line + "\n")
			g.Expect(In("Makefile", text).About).To(ContainSubstring(line))
		})
	}
	NewWithT(t).Expect(MayRun([]byte("$(KUBECTL_BIN) create -f x"))).To(BeTrue())
}

// A CRD has no commands, although its descriptions name some. What stands beside it in a file may have some.
func TestCRDsAreNotReadForCommands(t *testing.T) {
	g := NewWithT(t)
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: a\nspec:\n  description: |\n    helm upgrade --version 1\n"
	const job = "apiVersion: batch/v1\nkind: Job\nspec:\n  command: [helm]\n"
	for text, left := range map[string]string{
		crd: "", "---\n" + crd: "", job: job, crd + "---\n" + job: job,
		crd + "run: helm upgrade\n": crd + "run: helm upgrade\n", crd + "{{ end }}\n": crd + "{{ end }}\n",
	} {
		g.Expect(strings.TrimSpace(string(withoutCRDs([]byte(text))))).To(Equal(strings.TrimSpace(left)))
	}
}

func FuzzScripts(f *testing.F) {
	for _, text := range []string{"run \"$(kubectl apply -f x)\"", "sh -c 'sudo sh -c \"kubectl apply -f ${X:-$(cat y)}\"'", "cat <<E | kubectl apply -f -\nx\nE\n"} {
		f.Add("a.sh", text)
		f.Add("a.yaml", "run: |\n  "+text)
	}
	f.Fuzz(func(_ *testing.T, file, text string) { In(file, []byte(text)) })
}

func TestAProgramIsAWordOfItsOwn(t *testing.T) {
	for text, want := range map[string]bool{
		"kubectl get x": true, "run: KUBECTL": true, "$(oc) get": true, "docker build local": false, "docker, oc": true, "kubectl2": false, "$(KUBECTL_BIN) x": true,
		"reapply -f x": false, "reapply -f x\napply -f y": true, "apply this": false, "": false,
	} {
		NewWithT(t).Expect(MayRun([]byte(text))).To(Equal(want), text)
	}
}
