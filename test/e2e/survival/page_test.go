package survival_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/e2e/survival"
)

const (
	from = "<!-- Flux: the tests write from here (make label-survival) -->\n"
	to   = "<!-- Flux: to here. -->\n"
)

func TestThePageKeepsWhatPeopleHaveWritten(t *testing.T) {
	g := NewWithT(t)
	rows := []survival.Row{
		{Tool: "Flux 2", Mode: "m", Label: "l", Done: "a|b", Survived: true, Owner: "o", Said: "s"},
		{Tool: "Flux 2", Mode: "m", Label: "l", Done: "d", Owner: "o", Said: "s"},
	}
	page, err := survival.Page("# Title\n"+from+"old\n"+to+"The end.\n", "Flux", rows)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(page).To(Equal("# Title\n" + from + `
### Flux 2

| mode | the label | then | it survives | its owner at the end | Moult had said |
|---|---|---|---|---|---|
| m | l | a\|b | yes | o | s |
| m | l | d | **no** | o | s |

` + to + "The end.\n"))
	g.Expect(survival.Page(page, "Flux", rows)).To(Equal(page), "written twice, it is the same")
}

func TestAPageWithoutThePlaceIsNotWritten(t *testing.T) {
	for name, page := range map[string]string{
		"neither mark":            "# Title\n",
		"another tool's":          strings.ReplaceAll(from+to, "Flux", "Argo CD"),
		"no end":                  "# Title\n" + from,
		"no beginning":            "# Title\n" + to,
		"the end comes before it": to + from,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := survival.Page(page, "Flux", nil)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("lacks the lines")))
		})
	}
}
