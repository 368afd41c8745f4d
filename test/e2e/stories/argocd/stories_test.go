// The stories of examples/argocd, told with the real Argo CD: the commits are the folders of that example, and what is
// claimed there is seen here.
package argocd_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/lua"
	"github.com/moult-dev/moult/test/e2e/argocd"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
	"github.com/moult-dev/moult/test/e2e/story"
)

const (
	twoVersions = stage.TwoVersions
	storageFlip = stage.StorageFlip
	unserved    = stage.Unserved
	removal     = stage.Removed

	crdFile  = "crd.yaml"
	gateFile = "version-removal.yaml"
)

// withoutGate leaves the VersionRemoval out of the last commit.
var withoutGate = map[string]string{gateFile: ""}

func TestArgoCD(t *testing.T) {
	controller := stage.Build(t, "moult-controller")
	tell := func(name string, what func(p *play)) {
		t.Run(name, func(t *testing.T) { what(begin(t, controller)) })
	}
	tell("the removal waits for the migration, goes by itself and can be taken back", func(p *play) {
		commit, widgets := theRemovalWaits(p, 500)
		takenBack(p, commit, widgets)
	})
	tell("with the nudge it goes by itself as well", func(p *play) { theRemovalWaits(p, 50, "--nudge") })
	tell("what the plan prints gets through, commit by commit", func(p *play) { p.FollowThePlan() })
	tell("the way back that the plan prints leads to the release before", theWayBack)
	tell("the guide about rolling back leads back from each step", func(p *play) {
		guard(p)
		p.RollBack(stage.Hands{
			Widget:  "garden.yaml",
			EndSync: func() { p.g.Expect(p.argo.Terminate(p.T.Context(), p.application)).To(Succeed()) },
			Sync:    func() { p.g.Expect(p.argo.Sync(p.T.Context(), p.application)).To(Succeed()) },
		})
	})
	tell("the guide about fields that would be lost flips back, and leads to the removal", func(p *play) {
		guard(p)
		p.FlipBackForFields(stage.Hands{Widget: "garden.yaml", Suspend: func(suspended bool) {
			automated := map[string]any{"prune": true, "selfHeal": true}
			if suspended {
				automated = nil
			}
			p.g.Expect(p.argo.SetAutomated(p.T.Context(), p.application, automated)).To(Succeed())
		}})
	})
	tell("or adds the fields to the new version", func(p *play) {
		guard(p)
		p.AddFields(stage.Hands{Widget: "garden.yaml"})
	})
	tell("the guide about tenants names the namespaces that count", func(p *play) {
		guard(p)
		p.NameGateNamespaces(stage.Hands{Widget: "garden.yaml"})
	})
	tell("a gate that comes too early locks itself, and the plan leads out", func(p *play) { p.HaveTheGateTooEarly() })
	tell("the first install on an empty cluster does not wait", firstInstall)
	tell("two commits in one are refused, lose nothing and are put right by a commit", squashed)
	tell("without the gate the API server refuses the commit", withoutTheGate)
	tell("without the key in argocd-cm the gate is open", withoutTheKey)
	tell("the CRD's own condition as the gate", theCRDAsGate)
	tell("an operator that applies its CRD itself starts after the gate, and the label stays", func(p *play) {
		guard(p)
		p.operator().WaitWithTheOperator("operator.yaml")
	})
	tell("such an operator starts on an empty cluster", func(p *play) { p.operator().StartTheFirstOperator() })
	tell("under the policies that deny, all goes as without them, and the label stays", underThePolicies)
	tell("Moult is uninstalled, and what it has migrated stays", uninstalled)
}

// start runs Argo CD until the test ends. Its log is shown if the test fails.
func start(t *testing.T, config *rest.Config, options argocd.Options) *argocd.ArgoCD {
	t.Helper()
	options.WaveDelay = 2 * time.Second // as installed
	argo, err := argocd.Start(t.Context(), config, options)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(argo.LogTail(20))
		}
		argo.Stop()
	})
	return argo
}

// play is one story with a repository, from which an Application is synced.
type play struct {
	*stage.Play
	g           *WithT
	argo        *argocd.ArgoCD
	repo        *argocd.Repo
	application string
}

// gateHealth is how Argo CD knows the gate, as lua.ArgoCDConfig tells it, but not the script for CRDs.
func gateHealth() map[string]string {
	settings := lua.ArgoCDConfig()
	delete(settings, lua.CRDHealthKey)
	return settings
}

func begin(t *testing.T, controller string) *play {
	t.Helper()
	s := stage.New(t, controller)
	argo := start(t, s.Config, argocd.Options{Settings: gateHealth()})
	return newPlay(t, s, story.Begin(t), argo, argocd.NewRepo(t), "widgets") // as application.yaml names it
}

func newPlay(t *testing.T, s *stage.Stage, tale *story.Story, argo *argocd.ArgoCD, repo *argocd.Repo, application string) *play {
	t.Helper()
	p := &play{g: NewWithT(t), argo: argo, repo: repo, application: application}
	p.Play = &stage.Play{Stage: s, Story: tale, T: t, Tool: p, Example: "examples/argocd", CRDFile: crdFile, GateFile: gateFile}
	return p
}

// operator is the play with the commits of examples/operator.
func (p *play) operator() *play {
	p.Example = "examples/operator/argocd"
	return p
}

// install makes the first commit and the Application, and waits until it is synced.
func (p *play) install(folder string) {
	p.T.Helper()
	p.Install(folder, nil)
}

func (p *play) Install(folder string, changes map[string]string) {
	p.T.Helper()
	commit := p.commit(folder, changes)
	p.g.Expect(p.argo.CreateFromManifest(p.T.Context(), stage.Path("examples/argocd/application.yaml"), p.repo)).To(Succeed())
	p.Await("installed", stage.Patience, p.synced(commit))
}

func (p *play) Push(folder string, changes map[string]string) (commit string) {
	p.T.Helper()
	return p.push(folder, changes)
}

func (p *play) Applied(commit string) story.Check { return p.synced(commit) }
func (p *play) Waits(commit string) story.Check   { return p.waitsFor(commit, theGate) }

// Refused is a check: the sync of that commit has failed at the gate.
func (p *play) Refused(commit string) story.Check {
	return p.argo.OperationWhere(p.application, func(o argocd.Operation) bool {
		return o.Revision == commit && o.Resource("VersionRemoval", stage.Removal).Phase == argocd.Failed
	})
}

// push commits a folder of the example, with changes, and has Argo CD look.
func (p *play) push(folder string, changes map[string]string) (commit string) {
	p.T.Helper()
	commit = p.commit(folder, changes)
	p.g.Expect(p.argo.Refresh(p.T.Context(), p.application)).To(Succeed())
	return commit
}

func (p *play) commit(folder string, changes map[string]string) string {
	p.T.Helper()
	commit := p.repo.CommitFolder(stage.Commit(p.T, stage.Path(p.Example+"/"+folder), changes), folder)
	changed := ""
	for name, content := range changes {
		if content == "" {
			name = "no " + name
		}
		changed += " with " + name
	}
	p.Say("pushed %s%s as commit %.7s", folder, changed, commit)
	return commit
}

// synced is a check: Argo CD has applied that commit.
func (p *play) synced(commit string) story.Check {
	return p.operation(commit, argocd.Succeeded, "")
}

// waitsFor is a check: Argo CD is at that commit and waits for an object to become healthy.
func (p *play) waitsFor(commit, object string) story.Check {
	return p.operation(commit, argocd.Running, "waiting for healthy state of "+object)
}

const (
	theGate = "moult.dev/VersionRemoval/" + stage.Removal
	theCRD  = "apiextensions.k8s.io/CustomResourceDefinition/" + stage.CRD
)

func (p *play) operation(commit, phase, message string) story.Check {
	return p.argo.OperationWhere(p.application, func(o argocd.Operation) bool {
		return o.Revision == commit && o.Phase == phase && strings.Contains(o.Message, message)
	})
}

// rejected is a check: the API server has refused the CRD of that commit, because objects may be stored at the version
// that it lacks.
func (p *play) rejected(commit string) story.Check {
	return p.Denied(commit, "missing from spec.versions")
}

func (p *play) Denied(commit, message string) story.Check {
	return p.argo.OperationWhere(p.application, func(o argocd.Operation) bool {
		refused := o.Resource("CustomResourceDefinition", stage.CRD)
		return o.Revision == commit && refused.Status == "SyncFailed" && strings.Contains(refused.Message, message)
	})
}

// soon is how long Argo CD may take to apply the next wave once nothing holds it back.
const soon = 5 * time.Second
