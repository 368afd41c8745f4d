package survival_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/e2e/survival"
	"github.com/moult-dev/moult/test/e2e/tools"
)

var (
	controlPlane *controlplane.ControlPlane

	update = flag.Bool("update", false, "write docs/label-survival.md anew")
)

func TestMain(m *testing.M) { controlplane.Run(m, &controlPlane) }

// cast are the tools, and what is played with each.
var cast = []struct {
	name    string
	version func() (tools.Tool, error)
	start   func(*testing.T, *site) tool
	rows    func() []row
}{
	{"Argo CD", tools.ArgoCD, startArgoCD, ofArgoCD},
	{"Flux, kustomize-controller", tools.KustomizeController, startFlux, ofFlux},
	{"kubectl", tools.Kubectl, startKubectl, ofKubectl},
}

// TestTheLabel plays all rows, one after the other, and compares what it has seen with docs/label-survival.md. The tools
// are not played side by side: Argo CD looks at its whole picture of the cluster anew whenever a CRD comes or goes.
func TestTheLabel(t *testing.T) {
	here := newSite(t, controlPlane)
	another := sync.OnceValue(func() *site { return newSite(t, controlplane.New(t)) })
	for _, player := range cast {
		t.Run(player.name, func(t *testing.T) {
			program, err := player.version()
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			by := player.start(t, here)
			elsewhere := sync.OnceValues(func() (*site, tool) { return another(), player.start(t, another()) })
			var seen []survival.Row
			for _, r := range player.rows() {
				t.Run(fmt.Sprintf("%s: %s; %s", r.mode.name, r.label.words, r.then.words), func(t *testing.T) {
					observed := play(newScene(t, here, by, r.mode, elsewhere), r)
					observed.Tool = player.name + " " + program.Version
					seen = append(seen, observed)
				})
			}
			t.Run("docs/label-survival.md says the same", func(t *testing.T) {
				NewWithT(t).Expect(seen).To(HaveLen(len(player.rows())), "only a whole run, in which no row has failed, can be compared")
				compare(t, player.name, seen)
			})
		})
	}
}

// play does what the row says, and holds Moult's word against what comes of it.
func play(s *scene, r row) survival.Row {
	s.t.Helper()
	s.git.component = r.label.set == nil && !r.label.elsewhere
	if r.mode.madeByHand {
		s.by(s.git.manifest(s.t, nil), "create", "-f", "-")
	}
	s.deliver()
	if r.label.set != nil {
		s.g.Expect(isLabelled(s.live())).To(BeFalse(), "what is on the CRD is not from Git")
		r.label.set(s)
	}
	verdict := labelorigin.Of(s.live(), v1alpha1.MigrateLabel)
	s.Say("Moult says: %s", verdict)

	r.then.do(s)
	after := s.live()
	s.g.Expect(isLabelled(after)).To(Equal(r.survives), "the label is there")
	switch foretold, says := foretells(verdict, r.then); {
	case r.otherwise != "":
		s.g.Expect(verdict.Unless).NotTo(BeEmpty(), "Moult's word has no condition: %s", verdict)
		s.g.Expect(foretold).NotTo(Equal(r.survives), "it came as Moult had said, without the condition: %s", verdict)
	case says:
		s.g.Expect(foretold).To(Equal(r.survives), "Moult's word: %s", verdict)
	}
	return survival.Row{
		Mode: r.mode.name, Label: r.label.words, Done: r.then.words,
		Survived: isLabelled(after), Owner: ownersOf(s.g, after), Said: said(verdict, r.otherwise),
	}
}

// foretells is what a verdict says about the next sync or a new cluster, if it says anything: about a label that is not
// there, and about what a person does next, it does not.
func foretells(v labelorigin.Verdict, then act) (survives, says bool) {
	switch {
	case v.Origin == labelorigin.None || then.byHand:
		return false, false
	case then.rebuilds:
		return v.Origin == labelorigin.Git, v.Origin != labelorigin.Unknown
	default:
		return !v.Lost, v.Tool != labelorigin.NoTool
	}
}

// said is a verdict in the few words that a table has room for, with its condition only where that is met.
func said(v labelorigin.Verdict, otherwise string) (words string) {
	switch {
	case v.Origin == labelorigin.Git:
		words = "in Git"
	case v.Origin == labelorigin.LiveOnly && v.Lost:
		words = "only on the live object; the next sync takes it off"
	case v.Origin == labelorigin.LiveOnly:
		words = "only on the live object; a new cluster would not have it"
	case v.Origin == labelorigin.Unknown:
		words = "the CRD does not show it"
	default:
		words = "the label is not there"
	}
	if otherwise != "" {
		words += "; " + otherwise
	}
	return words
}

func compare(t *testing.T, tool string, seen []survival.Row) {
	t.Helper()
	g := NewWithT(t)
	path := filepath.Join("..", "..", "..", "docs", "label-survival.md")
	page, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	anew, err := survival.Page(string(page), tool, seen)
	g.Expect(err).NotTo(HaveOccurred())
	if *update {
		g.Expect(os.WriteFile(path, []byte(anew), 0o644)).To(Succeed())
		return
	}
	g.Expect(string(page)).To(Equal(anew), "`make label-survival` writes it anew; read the difference, it is what people rely on")
}
