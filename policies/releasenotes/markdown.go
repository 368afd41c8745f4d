package releasenotes

import (
	"fmt"
	"regexp"
	"strings"
)

// Markdown is the section as one pastes it into release notes. It begins with a heading of the second level.
func (n Notes) Markdown() string {
	var b strings.Builder
	b.WriteString("## Custom resources\n")
	if len(n.CRDs) == 0 {
		b.WriteString("\nNo CustomResourceDefinition has changed.\n")
		return b.String()
	}
	for _, crd := range n.CRDs {
		crd.write(&b)
	}
	if len(n.DryRun) > 0 {
		b.WriteString("\n### Try it before\n\nThis writes nothing.\n")
	}
	for _, c := range n.DryRun {
		fmt.Fprintf(&b, "\n```sh\n# %s\n%s\n```\n", c.Shows, c.Line)
	}
	return b.String()
}

func (n Note) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s (`%s`)\n", n.Kind, n.Name)
	switch n.State {
	case "added":
		b.WriteString("\nIt is new.\n")
		return
	case "removed":
		b.WriteString("\n**It is removed.** Deleting the CRD deletes all its objects.\n")
		return
	}
	if len(n.General) > 0 {
		b.WriteString("\n")
	}
	write(b, n.General)
	for _, v := range n.Versions {
		v.write(b)
	}
	b.WriteString("\n#### Upgrade\n")
	if len(n.Order) == 0 {
		b.WriteString("\nThe order does not matter, and no stored object has to be migrated.\n")
	} else {
		b.WriteString("\n")
	}
	for _, sentence := range n.Order {
		fmt.Fprintf(b, "- %s\n", sentence)
	}
	if len(n.Migration) > 0 {
		b.WriteString("\n#### Migration of stored objects\n")
	}
	for i, step := range n.Migration {
		fmt.Fprintf(b, "\n%d. %s\n", i+1, step.Text)
		if step.Code != "" {
			fmt.Fprintf(b, "\n   ```%s\n   %s\n   ```\n", step.Language, strings.ReplaceAll(step.Code, "\n", "\n   "))
		}
	}
}

func (v Version) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n#### %s", v.Name)
	if v.Standing != "" {
		fmt.Fprintf(b, " (%s)", v.Standing)
	}
	b.WriteString("\n")
	if v.Against != "" {
		fmt.Fprintf(b, "\nCompared with %s.\n", v.Against)
	}
	for _, group := range []struct {
		title   string
		entries []Entry
	}{{"Added", v.Added}, {"Changed", v.Changed}, {"Deprecated", v.Deprecated}, {"Removed", v.Removed}} {
		if len(group.entries) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n%s:\n\n", group.title)
		write(b, group.entries)
	}
}

// write is a list. What several entries have in common is said once.
func write(b *strings.Builder, entries []Entry) {
	said := map[string]bool{"": true}
	for _, e := range entries {
		b.WriteString("- ")
		if e.Breaking {
			b.WriteString("**Breaking:** ")
		}
		switch e.Field {
		case "":
		case ".":
			b.WriteString("the whole object ")
		default:
			b.WriteString(code(e.Field) + " ")
		}
		b.WriteString(e.Text)
		if !said[e.Why] {
			b.WriteString(". " + sentence(e.Why))
		}
		said[e.Why] = true
		b.WriteString("\n")
	}
}

// versionName is how the names of versions begin, which are never written with a capital.
var versionName = regexp.MustCompile(`^v\d`)

// sentence begins with a capital and ends with a full stop.
func sentence(why string) string {
	text := escaped(why)
	if !versionName.MatchString(text) {
		letters := []rune(text)
		text = strings.ToUpper(string(letters[:1])) + string(letters[1:])
	}
	return text + "."
}
