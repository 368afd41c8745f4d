package survivors

import (
	"fmt"
	"slices"
	"strings"
)

// Table is the places as a table in Markdown, the worst effect first.
func Table(places []Place) string {
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
