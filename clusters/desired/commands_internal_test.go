package desired

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// Each variable is looked for in the whole text. A text with very many would take hours.
func TestATextWithManyVariablesCountsAsAWhole(t *testing.T) {
	var text strings.Builder
	for i := range 2 * mostVariables {
		fmt.Fprintf(&text, "V%d = $(V%d)\n", i, i+1)
	}
	g := NewWithT(t)
	lines, _ := definitions(text.String(), []string{"kubectl apply -f $(V0)"})
	g.Expect(lines).To(Equal(text.String()))
	lines, open := definitions("V0 = $(V1)/$(V2)\nV1 = x\nother = y\n", []string{"kubectl apply -f $(V0)"})
	g.Expect(lines).To(Equal("V0 = $(V1)/$(V2)\nV1 = x\n"))
	g.Expect(open).To(Equal([]string{"V2"}))
}

// A substitution is a word that is parsed again. Without a bound, this has no end.
func TestScriptsWithinScriptsAreBounded(t *testing.T) {
	g := NewWithT(t)
	g.Expect(parsed("run \"$(kubectl apply -f x)\"", 0)).NotTo(BeEmpty())
	const depth = 60
	deep := strings.Repeat("\"kubectl $(kubectl ", depth) + "x" + strings.Repeat(")\"", depth)
	g.Expect(parsed(deep, 0)).NotTo(BeEmpty())
}
