package rewrite

import (
	"fmt"
	"maps"
	"slices"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/manifests"
	"github.com/moult-dev/moult/policies/words"
)

// rewritten is what -o json and -o yaml print.
type rewritten struct {
	// DryRun: Changed would be changed.
	DryRun bool `json:"dryRun"`
	// Changed are the places that have been converted to the storage version.
	Changed []manifests.Reference `json:"changed"`
	// Left are those that a person has to look at.
	Left []manifests.Reference `json:"left"`
	// Kept are those at versions that are served and not deprecated, so that nothing was done about them; --from converts
	// them.
	Kept []manifests.Reference `json:"kept"`
}

func (r *rewritten) add(hits []manifests.Reference) {
	for _, h := range hits {
		if h.Why == "" {
			r.Changed = append(r.Changed, h)
		} else {
			r.Left = append(r.Left, h)
		}
	}
}

// verdict is the error that decides the exit code.
func (r *rewritten) verdict() error {
	if len(r.Left) == 0 {
		return nil
	}
	return cli.NotDone{Sentence: words.Count(len(r.Left), "place") + " left for a person; which and why is above"}
}

func (r *command) print(report rewritten) error {
	if r.output != "" {
		return output.Print(r.Out, r.output, report)
	}
	for _, h := range report.Changed {
		fmt.Fprintf(r.Out, "%s: %s: %s -> %s\n", h.Place, described(h), h.Version, h.To)
	}
	for _, h := range report.Left {
		fmt.Fprintf(r.Out, "%s: %s stays at %s\n%s\n", h.Place, described(h), h.Version, output.Paragraph(h.Why))
	}
	done := "changed"
	if report.DryRun {
		done = "to change"
	}
	fmt.Fprintf(r.Out, "%s %s, %d left for a person\n", words.Count(len(report.Changed), "place"), done, len(report.Left))
	for _, line := range keptLines(report.Kept) {
		fmt.Fprintln(r.Out, line)
	}
	return nil
}

// keptLines say for each version what --from would convert. Without them, manifests that were not looked at would seem done.
func keptLines(kept []manifests.Reference) []string {
	at := map[string][]manifests.Reference{}
	for _, h := range kept {
		at[h.Version] = append(at[h.Version], h)
	}
	var lines []string
	for _, version := range slices.Sorted(maps.Keys(at)) {
		what, many := "manifest", len(at[version])
		if slices.ContainsFunc(at[version], func(h manifests.Reference) bool { return h.Role != manifests.Object }) {
			what = "place"
		}
		lines = append(lines, fmt.Sprintf("%s %s at %s, which is served and not deprecated: --from %s converts %s, too",
			words.Count(many, what), words.Agree(many, "is", "are"), version, version, words.Agree(many, "it", "them")))
	}
	return lines
}

// described is the object, and what the place is if it is not the object itself.
func described(h manifests.Reference) string {
	if h.Role == manifests.Object {
		return h.Object()
	}
	return h.Object() + " (" + string(h.Role) + ")"
}
