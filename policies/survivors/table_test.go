package survivors

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var update = flag.Bool("update", false, "write the table in docs/places.md anew")

const (
	page  = "../../docs/places.md"
	begin = "<!-- policies/survivors writes from here: go test ./policies/survivors -run Table -update -->\n"
	end   = "<!-- to here -->\n"
)

func TestTheTableIsInTheDocuments(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile(page)
	g.Expect(err).NotTo(HaveOccurred())
	before, rest, found := strings.Cut(string(content), begin)
	written, after, closed := strings.Cut(rest, end)
	g.Expect(found && closed).To(BeTrue(), "docs/places.md has the two lines between which the table is")
	want := "\n" + table(Embedded()) + "\n"
	if *update {
		g.Expect(os.WriteFile(page, []byte(before+begin+want+end+after), 0o600)).To(Succeed())
		return
	}
	g.Expect(written).To(Equal(want), "run the test with -update, and read what it wrote")
}

// table is the places as a table in Markdown, the worst effect first.
func table(places []Place) string {
	var out strings.Builder
	out.WriteString("| place | where | what happens | who clears it, and how | tried | evidence |\n|---|---|---|---|---|---|\n")
	sorted := slices.Clone(places)
	slices.SortStableFunc(sorted, func(a, b Place) int { return a.Effect.weight() - b.Effect.weight() })
	for i := range sorted {
		p := &sorted[i]
		fmt.Fprintf(&out, "| `%s`: %s | %s | **%s**. %s | %s: %s | %s | %s |\n",
			p.Name, p.Title, p.where(), p.Effect, p.Consequence, p.Clears, p.Remediation, p.Tried, p.links())
	}
	return out.String()
}

// where are the resources and the fields.
func (p *Place) where() string {
	var resources, fields []string
	for _, s := range p.Resources {
		resources = append(resources, "`"+string(s)+"`")
	}
	for i := range p.Fields {
		f := &p.Fields[i]
		field := "`" + strings.Join(append([]string{f.Path}, f.Packing...), " ") + "`"
		if f.Effect != "" {
			field += fmt.Sprintf(" (%s)", f.Effect)
		}
		fields = append(fields, field)
	}
	all := strings.Join(resources, ", ") + ": " + strings.Join(fields, ", ")
	if p.Secret {
		all += "; only with `--secrets`"
	}
	return all
}

func (p *Place) links() string {
	var links []string
	for i, address := range p.Evidence {
		links = append(links, fmt.Sprintf("[%d](%s)", i+1, address))
	}
	return strings.Join(links, " ")
}
