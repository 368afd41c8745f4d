package stage

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/test/e2e/story"
)

// Tool is Argo CD or Flux with a repository. Commits are folders of the examples, named from Play.Example, with other content in
// some of their files.
type Tool interface {
	// Install makes the first commit, and waits until all of it is applied.
	Install(folder string, changes map[string]string)
	// Push makes another commit.
	Push(folder string, changes map[string]string) (commit string)
	// Applied is a check: all of the commit is applied.
	Applied(commit string) story.Check
	// Waits is a check: the commit waits for its gate.
	Waits(commit string) story.Check
	// Refused is a check: the gate has refused the commit, and the rest of it is not applied.
	Refused(commit string) story.Check
	// Denied is a check: the API server has refused the CRD of the commit with that message.
	Denied(commit, message string) story.Check
}

// Play is one story with a tool, and the stories that are the same with both.
type Play struct {
	*Stage
	*story.Story
	Tool
	T *testing.T
	// Example is the folder of the commits, and CRDFile and GateFile are files in each.
	Example, CRDFile, GateFile string
}

// The commits of the examples.
const (
	TwoVersions = "1-two-versions"
	StorageFlip = "2-storage-flip"
	Unserved    = "3-unserved"
	Removed     = "4-removal"
)

// Apply makes a commit, and waits until it is applied.
func (p *Play) Apply(folder string, changes map[string]string) {
	p.T.Helper()
	p.Await("applied", Patience, p.Applied(p.Push(folder, changes)))
}

// AllAlive compares all objects with those that were there before, and looks at their bytes.
func (p *Play) AllAlive(widgets Widgets) {
	p.T.Helper()
	g := NewWithT(p.T)
	g.Expect(p.Widgets(p.T, NewVersion)).To(Equal(widgets))
	g.Expect(p.Stored(p.T)).To(Equal(map[string]int{NewVersion: len(widgets)}))
	p.Say("all %d widgets are alive and stored at %s", len(widgets), NewVersion)
}

// file is a file of a commit, named from the root of the repository.
func (p *Play) file(folder, name string) string { return p.Example + "/" + folder + "/" + name }

// FollowThePlan follows what moult plan prints, commit by commit, from two versions to one.
func (p *Play) FollowThePlan() {
	planner := p.NewPlanner(p.T)
	p.StartMoult(p.T, "--references")
	p.Witness(p.T, p.RemovalReady(), p.Versions(NewVersion))
	p.Install(TwoVersions, map[string]string{p.CRDFile: Unlabelled(p.T, p.file(TwoVersions, p.CRDFile))})
	before := p.CreateWidgets(p.T, 50)

	folders := map[runbook.Name]string{runbook.OptIn: TwoVersions, runbook.Flip: StorageFlip, runbook.Unserve: Unserved, runbook.Ask: Removed}
	committed := planner.Follow(p.T, p.Story, func(step runbook.Step, gate string) {
		changes := map[string]string{}
		if gate != "" {
			changes[p.GateFile] = gate
		}
		p.Apply(folders[step.Name], changes)
	})
	NewWithT(p.T).Expect(committed).To(Equal([]runbook.Name{runbook.OptIn, runbook.Flip, runbook.Unserve, runbook.Ask}))
	p.Await("kubectl get vr", Patience, p.RemovalSays(v1alpha1.ReasonAlreadyRemoved))
	p.AllAlive(before)
}

// HaveTheGateTooEarly has the VersionRemoval before the version stops being served: it holds back what it waits for, until a
// commit takes it out, as the plan says.
func (p *Play) HaveTheGateTooEarly() {
	g, planner := NewWithT(p.T), p.NewPlanner(p.T)
	p.StartMoult(p.T)
	p.Install(StorageFlip, nil)
	gate := p.file(Removed, p.GateFile)
	early := map[string]string{p.GateFile: Files(p.T, gate)[gate]}
	p.Await("the gate is too early", Patience, p.Refused(p.Push(StorageFlip, early)))
	p.Await("kubectl get vr", Patience, p.RemovalSays(v1alpha1.ReasonStillServed))
	locked := p.Push(Unserved, early)
	p.Await("and is so at the commit that it asks for", Patience, p.Refused(locked))
	p.Holds("which is not applied", 20*time.Second, Opposite(p.Applied(locked)))

	step, err := planner.Step(p.T.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(step.Name).To(Equal(runbook.Unserve))
	g.Expect(step.Commit).To(ContainSubstring("in the same commit take out VersionRemoval " + Namespace + "/" + Removal))
	p.Apply(Unserved, nil)
	p.Apply(Removed, nil)
}

// WaitWithTheOperator makes the commits of examples/operator: no manifest in Git holds the CRD, so the gate holds the operator.
// The file has its Deployment. The policies that deny are there.
func (p *Play) WaitWithTheOperator(file string) {
	moult := p.StartMoult(p.T, "--references")
	p.Witness(p.T, p.RemovalReady(), p.Versions(NewVersion), p.OperatorRuns(OperatorAfter))
	p.InstallOld(p.T)
	p.labelOperatorsCRD()
	widgets := p.CreateWidgets(p.T, 50)
	moult.SlowPass(len(widgets))
	p.RunOperator(p.T)
	p.Install(".", map[string]string{file: OperatorAt(p.T, p.file(".", file)), p.GateFile: ""})
	p.Await("release 1.1 has flipped the CRD, and its label stays", Patience, All(p.storedVersions(OldVersion, NewVersion), p.Labelled()))

	commit := p.Push(".", nil)
	waiting := p.Waits(commit)
	p.Await("the operator waits for the gate", Patience, waiting)
	p.Await("kubectl get vr", Patience, p.RemovalSays(v1alpha1.ReasonMigrating))
	p.Holds("and is not replaced", 5*time.Second, All(waiting, p.StoredAtOld(), p.OperatorRuns(OperatorBefore)))

	moult.SlowWrites(0)
	p.Await("the new release runs", Patience, p.OperatorRuns(OperatorAfter))
	p.Await("it has removed the version", Patience, All(p.Versions(NewVersion), p.Labelled()))
	p.Await("applied", Patience, p.Applied(commit))
	p.AllAlive(widgets)
}

// StartTheFirstOperator is a new cluster: only the last commit is there.
func (p *Play) StartTheFirstOperator() {
	p.StartMoult(p.T, "--references")
	p.RunOperator(p.T)
	p.Install(".", nil)
	p.Await("the operator has brought its CRD", Patience, p.Versions(NewVersion))
	p.Await("kubectl get vr", Patience, p.RemovalSays(v1alpha1.ReasonAlreadyRemoved))
}
