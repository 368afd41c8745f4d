package rehearse

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/words"
)

func (r *command) print(report conversion.Report) error {
	if output.IsDocument(r.output) {
		return output.Print(r.Out, r.output, report)
	}
	var text strings.Builder
	for _, of := range report.CRDs {
		fmt.Fprintf(&text, "%s: %s, to be stored at %s%s\n", of.CRD, words.Count(of.Objects, "object"), of.Storage, readAt(of))
		for _, g := range of.Lost {
			say := "lost"
			switch {
			case g.Accepted != "":
				say = "lost, and meant: " + g.Accepted
			case g.Status:
				say = "lost in status, which its controller writes anew"
			}
			group(&text, g, say)
		}
		for _, g := range of.Refused {
			group(&text, g, "refused")
		}
		for _, g := range of.Ratcheted {
			group(&text, g, "let pass until it changes")
		}
		for _, g := range of.Unknown {
			group(&text, g, "not known")
		}
	}
	for _, a := range report.Unused {
		fmt.Fprintf(&text, "accepted and not found: %s of %s (%s)\n", a.Path, a.CRD, a.Reason)
	}
	fmt.Fprintf(&text, "%s\n", sentence(report))
	_, err := fmt.Fprint(r.Out, text.String())
	return err
}

func readAt(of conversion.OfCRD) string {
	if of.ReadAt == "" {
		return ""
	}
	return ", read at " + of.ReadAt
}

// group is one line, and below it some of the objects.
func group(text *strings.Builder, g conversion.Group, say string) {
	fmt.Fprintf(text, "  %s: %s\n", say, g.What)
	if g.Objects > 0 && len(g.Examples) > 0 {
		more := ""
		if rest := g.Objects - int64(len(g.Examples)); rest > 0 {
			more = fmt.Sprintf(" and %d more", rest)
		}
		fmt.Fprintf(text, "    %s: %s%s\n", words.Count(g.Objects, "object"), strings.Join(g.Examples, ", "), more)
	}
}

func sentence(report conversion.Report) string {
	switch report.Verdict {
	case conversion.NotKept:
		return "something would be lost or refused: move it before the storage version changes, or accept it with --accept"
	case conversion.NotKnown:
		return "not all is known; nothing would be lost or refused of what could be looked at"
	case conversion.Kept:
	}
	return "nothing would be lost, and nothing refused"
}
