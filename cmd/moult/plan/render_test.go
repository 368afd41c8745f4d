package plan

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/runbook"
)

// Each of several commits has a line of its own.
func TestWhatComesBeforeACommitIsAList(t *testing.T) {
	g := NewWithT(t)
	p := runbook.Plan{Steps: []runbook.Step{{Phase: 1, State: runbook.Held, Title: "Flip", First: []string{"move the values", "serve v1beta1"}, Commit: "storage: true"}}}
	g.Expect(asText(p)).To(ContainSubstring("             first: move the values\n             first: serve v1beta1\n             commit: storage: true\n"))
	g.Expect(asMarkdown(p)).To(ContainSubstring("  - first: move the values\n  - first: serve v1beta1\n  - commit: storage: true\n"))
}
