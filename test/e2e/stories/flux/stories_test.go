// The stories of examples/flux, told with the real kustomize-controller: the commits are the folders of that example, and
// what is claimed there is seen here.
package flux_test

import (
	"os"
	"path"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/flux"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
	"github.com/moult-dev/moult/test/e2e/story"
)

const (
	twoVersions = stage.TwoVersions
	storageFlip = stage.StorageFlip
	unserved    = stage.Unserved
	removal     = stage.Removed

	crdFile  = "crds/crd.yaml"
	gateFile = "crd-gate/version-removal.yaml"

	// The Kustomizations of the example.
	gate     = "crd-gate"
	crds     = "crds"
	migrated = "crds-migrated"
	widgets  = "widgets"
)

// withoutGate leaves the VersionRemoval out of the last commit.
var withoutGate = map[string]string{gateFile: ""}

func TestFlux(t *testing.T) {
	controller := stage.Build(t, "moult-controller")
	tell := func(name string, what func(p *play)) {
		t.Run(name, func(t *testing.T) { what(begin(t, controller)) })
	}
	tell("the removal waits for the migration, goes by itself and can be taken back", func(p *play) {
		objects := theRemovalWaits(p, 500, polled)
		takenBack(p, objects)
	})
	tell("with the nudge it goes at once, because Moult has asked for it", func(p *play) {
		theRemovalWaits(p, 50, polled, "--nudge")
		p.Await("asked", stage.Patience, p.flux.KustomizationWhere(crds, func(k flux.Kustomization) bool { return k.LastHandledReconcileAt != "" }))
	})
	tell("what the plan prints gets through, commit by commit", func(p *play) { p.FollowThePlan() })
	tell("the way back that the plan prints leads to the release before", theWayBack)
	tell("the guide about rolling back leads back from each step", func(p *play) {
		guard(p)
		p.RollBack(stage.Hands{Widget: "widgets/garden.yaml", Restart: func(revision string) {
			p.Await("the CRD is applied", stage.Patience, p.flux.ReadyAt(crds, revision))
			p.g.Expect(p.flux.Restart(p.T.Context())).To(Succeed())
		}})
	})
	tell("the guide about fields that would be lost flips back, and leads to the removal", func(p *play) {
		guard(p)
		p.FlipBackForFields(stage.Hands{Widget: "widgets/garden.yaml", Suspend: func(suspended bool) {
			p.g.Expect(p.flux.Suspend(p.T.Context(), crds, suspended)).To(Succeed())
		}})
	})
	tell("or adds the fields to the new version", func(p *play) {
		guard(p)
		p.AddFields(stage.Hands{Widget: "widgets/garden.yaml"})
	})
	tell("the guide about tenants names the namespaces that count", func(p *play) {
		guard(p)
		p.NameGateNamespaces(stage.Hands{Widget: "widgets/garden.yaml"})
	})
	tell("a gate that comes too early locks itself, and the plan leads out", func(p *play) { p.HaveTheGateTooEarly() })
	tell("the first install on an empty cluster does not wait", firstInstall)
	tell("two commits in one are refused, lose nothing and are put right by a commit", squashed)
	tell("a cluster that has missed commits is repaired by hand", missedCommits)
	tell("without the gate the API server refuses the commit", withoutTheGate)
	tell("the CRD's own condition as the gate", theCRDAsGate)
	tell("an operator that applies its CRD itself starts after the gate, and the label stays", func(p *play) {
		guard(p)
		p.operator().WaitWithTheOperator("operator/deployment.yaml")
	})
	tell("such an operator starts on an empty cluster", func(p *play) { p.operator().StartTheFirstOperator() })
	tell("under the policies that deny, all goes as without them, and the label stays", underThePolicies)
	tell("Moult is uninstalled, and what it has migrated stays", uninstalled)
}

// How long Flux may take to apply the CRD once nothing holds it back. It looks at the gate's health and at dependencies
// every 5 s.
const polled = 12 * time.Second

// start runs Flux until the test ends. Its log is shown if the test fails.
func start(t *testing.T, s *stage.Stage, options flux.Options) *flux.Flux {
	t.Helper()
	f, err := flux.Start(t.Context(), s.Config, options)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(f.LogTail(20))
		}
		f.Stop()
	})
	return f
}

// play is one story with its source, which the Kustomizations of the example are of.
type play struct {
	*stage.Play
	g      *WithT
	flux   *flux.Flux
	source *flux.Source
	own    *flux.Source // Moult's own
	// files are the Kustomizations, named from the example's folder, of which the second one waits for the first.
	files []string
}

func begin(t *testing.T, controller string) *play {
	t.Helper()
	s := stage.New(t, controller)
	p := &play{g: NewWithT(t), flux: start(t, s, flux.Options{FeatureGates: map[string]bool{"CancelHealthCheckOnNewRevision": true}}), files: everything}
	p.Play = &stage.Play{Stage: s, Story: story.Begin(t), T: t, Tool: p, Example: "examples/flux", CRDFile: crdFile, GateFile: gateFile}
	p.installMoult()
	var err error
	p.source, err = p.flux.NewSource(t.Context(), "widgets") // as sources.yaml names it
	p.g.Expect(err).NotTo(HaveOccurred())
	return p
}

// operator is the play with the commits and the Kustomizations of examples/operator.
func (p *play) operator() *play {
	p.Example, p.GateFile = "examples/operator/flux", "operator-gate/version-removal.yaml"
	p.files = []string{"flux-system/operator-gate.yaml", "flux-system/operator.yaml"}
	return p
}

func (p *play) Install(folder string, changes map[string]string) {
	p.T.Helper()
	p.install(folder, changes, p.files...)
}

func (p *play) Push(folder string, changes map[string]string) (revision string) {
	p.T.Helper()
	return p.push(folder, changes)
}

// name is that of one of the Kustomizations.
func (p *play) name(i int) string { return strings.TrimSuffix(path.Base(p.files[i]), ".yaml") }

func (p *play) Applied(revision string) story.Check {
	return p.flux.ReadyAt(p.name(len(p.files)-1), revision)
}

// Waits is a check: Flux looks at the gate's health at that revision, and what depends on it waits.
func (p *play) Waits(revision string) story.Check {
	return stage.All(
		p.checks(p.name(0), revision),
		p.flux.KustomizationWhere(p.name(1), func(k flux.Kustomization) bool {
			return !k.Ready() && k.LastAppliedRevision != revision && k.Condition("Ready").Reason == "DependencyNotReady"
		}),
	)
}

func (p *play) Refused(revision string) story.Check {
	return p.fails(p.name(0), revision, "status: 'Failed'")
}

func (p *play) Denied(revision, message string) story.Check { return p.fails(crds, revision, message) }

// installMoult is as the example has it: a Kustomization of its own. Here that holds Moult's CRD alone, since a control
// plane without nodes runs no Deployment.
func (p *play) installMoult() {
	p.T.Helper()
	crd, err := os.ReadFile(stage.Path("clusters/base/crds/moult.dev_versionremovals.yaml"))
	p.g.Expect(err).NotTo(HaveOccurred())
	p.own, err = p.flux.NewSource(p.T.Context(), "moult")
	p.g.Expect(err).NotTo(HaveOccurred())
	revision, err := p.own.Push(p.T.Context(), map[string]string{"clusters/base/crds/versionremovals.yaml": string(crd)})
	p.g.Expect(err).NotTo(HaveOccurred())
	kustomizations, err := cluster.ParseFiles(stage.Path("examples/flux/flux-system/moult.yaml"))
	p.g.Expect(err).NotTo(HaveOccurred())
	p.g.Expect(cluster.Apply(p.T.Context(), p.Client, kustomizations...)).To(Succeed())
	p.Await("Moult is installed", stage.Patience, p.flux.ReadyAt("moult", revision))
}

// install makes the first commit and the Kustomizations of the files, named from the example's folder, and waits until
// the last one is applied.
func (p *play) install(folder string, changes map[string]string, files ...string) {
	p.T.Helper()
	revision, last := p.push(folder, changes), ""
	for _, file := range files {
		kustomizations, err := cluster.ParseFiles(stage.Path(p.Example + "/" + file))
		p.g.Expect(err).NotTo(HaveOccurred())
		p.g.Expect(cluster.Apply(p.T.Context(), p.Client, kustomizations...)).To(Succeed())
		last = kustomizations[0].GetName()
	}
	p.Await("installed", stage.Patience, p.flux.ReadyAt(last, revision))
}

// The files of the example; some stories do without the last.
var (
	gateAndCRDs = []string{"flux-system/crd-gate.yaml", "flux-system/crds.yaml"}
	everything  = append(gateAndCRDs[:2:2], "flux-system/widgets.yaml")
)

// push offers a folder of the example, with changes, as a new revision.
func (p *play) push(folder string, changes map[string]string) (revision string) {
	p.T.Helper()
	revision, err := p.source.PushFolder(p.T.Context(), stage.Commit(p.T, stage.Path(p.Example+"/"+folder), changes))
	p.g.Expect(err).NotTo(HaveOccurred())
	p.Say("pushed %s as %.17s", folder, revision)
	return revision
}

// checks is a check: Flux has applied the Kustomization at that revision and waits for the health of what it names.
func (p *play) checks(name, revision string) story.Check {
	return p.flux.KustomizationWhere(name, func(k flux.Kustomization) bool {
		return !k.Ready() && k.LastAttemptedRevision == revision && k.Condition("Reconciling").Status == "True"
	})
}

// fails is a check: the Kustomization's last attempt was of that revision and has failed with that message.
func (p *play) fails(name, revision, message string) story.Check {
	return p.flux.KustomizationWhere(name, func(k flux.Kustomization) bool {
		ready := k.Condition("Ready")
		return ready.Status == "False" && k.LastAttemptedRevision == revision && strings.Contains(ready.Message, message)
	})
}
