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

func FuzzScripts(f *testing.F) {
	for _, text := range []string{"run \"$(kubectl apply -f x)\"", "sh -c 'sudo sh -c \"kubectl apply -f ${X:-$(cat y)}\"'", "cat <<E | kubectl apply -f -\nx\nE\n"} {
		f.Add("a.sh", text)
		f.Add("a.yaml", "run: |\n  "+text)
	}
	f.Fuzz(func(_ *testing.T, file, text string) { In(file, []byte(text)) })
}
