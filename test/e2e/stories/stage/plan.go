package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/story"
)

// Planner asks `moult plan` about the CRD of the examples.
type Planner struct {
	program, kubeconfig string
	// flags say which plan, and asked is what it says of each commit, so that the commits are what it asks for.
	flags []string
	asked map[runbook.Name]string
}

// NewPlanner builds moult.
func (s *Stage) NewPlanner(t *testing.T) *Planner {
	t.Helper()
	g := NewWithT(t)
	p := &Planner{
		program: Build(t, "moult"), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"),
		flags: []string{"--to", NewVersion, "--version", OldVersion},
		asked: map[runbook.Name]string{
			runbook.OptIn:   "metadata.labels: {" + v1alpha1.MigrateLabel,
			runbook.Flip:    "storage: true at " + NewVersion,
			runbook.Unserve: "served: false at " + OldVersion,
			runbook.Ask:     "one commit, with spec.versions without " + OldVersion + ", and with this",
		},
	}
	g.Expect(cluster.WriteKubeconfig(s.Config, p.kubeconfig)).To(Succeed())
	return p
}

// Plan is what the command prints.
func (p *Planner) Plan(ctx context.Context) (plan runbook.Plan, err error) {
	command := exec.CommandContext(ctx, p.program, append([]string{"plan", CRD, "-o", "json", "--kubeconfig", p.kubeconfig}, p.flags...)...)
	output, err := command.Output()
	if err != nil {
		return plan, fmt.Errorf("moult plan: %w: %s", err, output)
	}
	return plan, json.Unmarshal(output, &plan)
}

// Step is the next step, without its name if there is none.
func (p *Planner) Step(ctx context.Context) (runbook.Step, error) {
	plan, err := p.Plan(ctx)
	for _, s := range plan.Steps {
		if s.Name == plan.Next {
			return s, err
		}
	}
	return runbook.Step{}, err
}

// Past is a check: another step is next.
func (p *Planner) Past(name runbook.Name) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		s, err := p.Step(ctx)
		return fmt.Sprintf("next: %s, %s: %s", s.Name, s.State, s.Seen), err == nil && s.Name != name, err
	}
}

// Follow does what the plan says until nothing is left, and returns the steps that were committed. commit makes the commit of a
// step, with the VersionRemoval that the plan prints, if it prints one, and waits until the tool has taken it.
func (p *Planner) Follow(t *testing.T, s *story.Story, commit func(step runbook.Step, gate string)) (committed []runbook.Name) {
	t.Helper()
	g := NewWithT(t)
	for {
		step, err := p.Step(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		if step.Name == "" {
			return committed
		}
		s.Say("moult plan: next is %s: %s", step.Name, step.Title)
		if text, asks := p.asked[step.Name]; asks {
			g.Expect(committed).NotTo(ContainElement(step.Name))
			g.Expect(step.Commit).To(HavePrefix(text))
			commit(step, gateIn(step.Commit))
			committed = append(committed, step.Name)
		}
		s.Await("past "+string(step.Name), Patience, p.Past(step.Name))
	}
}

// gateIn is the VersionRemoval in a commit, in the namespace of the examples; empty if there is none.
func gateIn(commit string) string {
	_, manifest, found := strings.Cut(commit, "\napiVersion: ")
	if !found {
		return ""
	}
	return strings.Replace("apiVersion: "+manifest, "namespace: default", "namespace: "+Namespace, 1)
}
