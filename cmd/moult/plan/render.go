package plan

import (
	"fmt"
	"strings"

	preview "github.com/moult-dev/moult/policies/preview/output"
	"github.com/moult-dev/moult/policies/runbook"
)

const (
	// seenWidth is the most characters of what the cluster says, in Markdown.
	seenWidth = 500
	indent    = "             "
)

// phases say what is common to the steps of each.
var phases = map[int]string{1: "Phase 1, which can be repeated and taken back", 2: "Phase 2, which is deliberate"}

func title(p runbook.Plan) string {
	way := "store"
	if p.Return {
		way = "back to storing"
	}
	text := fmt.Sprintf("%s: %s at %s", p.CRD, way, p.To)
	if len(p.Leaving) > 0 {
		text += fmt.Sprintf(", let %s go", strings.Join(p.Leaving, ", "))
	}
	return text
}

// asText describes a step that is done, or comes later, in a line or two.
func asText(p runbook.Plan) string {
	var out strings.Builder
	fmt.Fprintln(&out, title(p))
	phase := 0
	for _, s := range p.Steps {
		if s.Phase != phase {
			phase = s.Phase
			fmt.Fprintf(&out, "\n%s\n", phases[phase])
		}
		fmt.Fprintf(&out, "  %-9s  %s\n", s.State, s.Title)
		line := func(what, says string) {
			if says != "" {
				fmt.Fprintf(&out, "%s%s%s\n", indent, what, strings.ReplaceAll(strings.TrimSpace(says), "\n", "\n"+indent+"  "))
			}
		}
		if s.State == runbook.Done {
			continue
		}
		if s.State == runbook.Over {
			line("seen: ", s.Seen)
			continue
		}
		if s.State == runbook.Later {
			line("risk: ", s.Risk)
			continue
		}
		line("seen: ", s.Seen)
		line("risk: ", s.Risk)
		line("back: ", s.Back)
		for _, before := range s.First {
			line("first: ", before)
		}
		line("commit: ", s.Commit)
		for _, command := range s.Commands {
			line("$ ", command)
		}
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&out, "\nnote: %s\n", note)
	}
	if p.Next == "" {
		fmt.Fprintln(&out, "\nnothing is left to do")
	}
	return out.String()
}

// asMarkdown is a list of tasks, for an issue or a pull request.
func asMarkdown(p runbook.Plan) string {
	var out strings.Builder
	fmt.Fprintf(&out, "### %s\n", title(p))
	phase := 0
	for _, s := range p.Steps {
		if s.Phase != phase {
			phase = s.Phase
			fmt.Fprintf(&out, "\n**%s**\n\n", phases[phase])
		}
		if s.State == runbook.Done {
			fmt.Fprintf(&out, "- [x] %s\n", s.Title)
			continue
		}
		if s.State == runbook.Over {
			fmt.Fprintf(&out, "- **%s**: %s (%s)\n", s.State, s.Title, s.Seen)
			continue
		}
		fmt.Fprintf(&out, "- [ ] **%s**: %s\n", s.State, s.Title)
		if s.State != runbook.Later && s.Seen != "" {
			fmt.Fprintf(&out, "  - seen: %s\n", preview.CodeSpan(s.Seen, seenWidth))
		}
		fmt.Fprintf(&out, "  - risk: %s\n  - back: %s\n", s.Risk, s.Back)
		for _, before := range s.First {
			fmt.Fprintf(&out, "  - first: %s\n", before)
		}
		if s.Commit != "" {
			fmt.Fprintf(&out, "  - commit: %s\n", fenced(s.Commit, "yaml"))
		}
		if len(s.Commands) > 0 {
			fmt.Fprintf(&out, "\n    ```sh\n    %s\n    ```\n", strings.Join(s.Commands, "\n    "))
		}
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&out, "\n%s\n", preview.CodeSpan(note, seenWidth))
	}
	return out.String()
}

// fenced puts what follows the first line into a block.
func fenced(text, language string) string {
	first, rest, more := strings.Cut(strings.TrimSpace(text), "\n")
	if !more {
		return first
	}
	return fmt.Sprintf("%s\n\n    ```%s\n    %s\n    ```", first, language, strings.ReplaceAll(rest, "\n", "\n    "))
}
