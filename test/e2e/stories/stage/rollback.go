package stage

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/docs"
	"github.com/moult-dev/moult/test/e2e/cluster"
)

// Hands is what a reader does by hand with one of the tools.
type Hands struct {
	// Widget is the file of a commit that has the Widget.
	Widget string
	// EndSync ends a sync that waits; nil where a newer commit ends it.
	EndSync func()
	// Sync has the tool apply a commit that changes only the version of an object, which is no difference to it; nil where it
	// applies each commit by itself.
	Sync func()
	// Restart has the tool forget, once it has applied the CRD of a commit, at which version it has met a kind; nil where it asks
	// each time.
	Restart func(commit string)
	// Suspend has the tool apply no CRD, or apply it again; nil in the guides that do without.
	Suspend func(suspended bool)
}

// reader plays a guide that changes a CRD of its own, with a tool.
type reader struct {
	*Play
	Hands
	g     *WithT
	guide *Guide
	moult *Moult
	// waits is true while a sync waits that the next commit ends.
	waits bool
}

const (
	// crdOfGuides is the file of the CRD that the guides change, in their reader's folder.
	crdOfGuides = "crds/widgets.yaml"
	// syncing is the file that is there while the program apply-crds waits for a commit to be applied.
	syncing   = "syncing"
	applyCRDs = "#!/bin/sh\ntouch " + syncing + "; while test -e " + syncing + "; do sleep 0.1; done\n"
	// rose is the manifest of a Widget in Git.
	rose = "rose.yaml"
)

// RollBack plays docs/guides/roll-back.md block by block, under the policies that deny. What stands on the page for a commit and
// its sync is a commit that the tool applies. The traps that the page names are walked into, and out of again.
func (p *Play) RollBack(hands Hands) {
	p.T.Helper()
	r, before := p.read("guides/roll-back.md", hands)

	r.fromTheFlip(before)
	r.fromServedFalse(before)
	r.fromTheRemoval(before)
	r.toTheOlderRelease(before)
}

// read begins a guide: the first commit is applied, and there are three Widgets.
func (p *Play) read(page string, hands Hands) (*reader, Widgets) {
	p.T.Helper()
	r := &reader{Play: p, Hands: hands, g: NewWithT(p.T), moult: p.StartMoult(p.T, "--references")}
	r.guide = OpenGuide(p.T, page, map[string]*rest.Config{"production": p.Config})
	r.g.Expect(os.CopyFS(r.guide.folder, os.DirFS(Path("test/guides/testdata")))).To(Succeed())
	r.g.Expect(os.WriteFile(filepath.Join(r.guide.folder, "steps/apply-crds"), []byte(applyCRDs), 0o700)).To(Succeed())
	r.guide.write(rose, "apiVersion: "+group+"/"+NewVersion+"\nkind: Widget\n"+
		"metadata: {name: rose, namespace: default, annotations: {argocd.argoproj.io/sync-wave: \"1\"}}\nspec: {size: 1}\n")
	p.Install(TwoVersions, r.commit(nil))
	r.guide.MustRun("kubectl apply --server-side --force-conflicts -f widgets.yaml")
	before := p.Widgets(p.T, OldVersion)
	r.g.Expect(before).To(HaveLen(3))
	return r, before
}

// fromTheFlip leads back to the old version, and shows what a VersionRemoval for it would do there.
func (r *reader) fromTheFlip(before Widgets) {
	r.playTo("## From served: false")
	r.storedAt(OldVersion, before)
	r.Await("a VersionRemoval for it fails each sync", Patience, r.Refused(r.Push(TwoVersions, r.commit(map[string]string{r.GateFile: r.gate(false)}))))
	r.Await("kubectl get vr", Patience, r.RemovalSays(v1alpha1.ReasonIntermediateRevisionRequired))
	r.Apply(TwoVersions, r.commit(nil))
}

// fromServedFalse has the removal merged already: it waits, since no controller answers its gate.
func (r *reader) fromServedFalse(before Widgets) {
	r.playTo("```diff")
	r.moult.Stop()
	r.Await("the removal waits", Patience, r.Waits(r.pushRemoval()))
	r.waits = true
	r.playTo("## From the removal")
	r.Await("without its gate", Patience, cluster.Absent(r.Client, removalAPI, removalKind, Namespace, Removal))
	r.storedAt(NewVersion, before)
	r.moult = r.StartMoult(r.T, "--references")
}

// fromTheRemoval serves the version again, and then stores at it.
func (r *reader) fromTheRemoval(before Widgets) {
	r.playTo("```diff")
	r.Await("removed", Patience, r.Versions(NewVersion))
	both := edited(r.T, r.guide.file(crdOfGuides), set("served", OldVersion, true, NewVersion, true))
	both = edited(r.T, both, set("storage", OldVersion, true, NewVersion, false))
	r.Await("the removal and the flip in one are refused", Patience, r.Denied(r.Push(TwoVersions, r.commit(map[string]string{r.CRDFile: both})), "was not served until now"))
	r.playTo("## To the older release")
	r.storedAt(NewVersion, before)

	gate := map[string]string{r.GateFile: r.gate(true)}
	r.Await("a VersionRemoval holds back", Patience, r.Refused(r.Push(TwoVersions, r.commit(gate))))
	r.change("storage: true")
	held := r.Push(TwoVersions, r.commit(gate))
	r.Await("the flip back, too", Patience, r.Refused(held))
	r.Await("kubectl get vr", Patience, r.RemovalSays(v1alpha1.ReasonStillServed))
	r.g.Expect(r.Stored(r.T)).To(Equal(map[string]int{NewVersion: len(before)}))
}

// toTheOlderRelease flips back, and goes on to the CRD that has the old version alone.
func (r *reader) toTheOlderRelease(before Widgets) {
	r.Apply(TwoVersions, r.commit(nil))
	r.Await("flipped back", Patience, r.guide.Prints("moult wait"))
	r.storedAt(OldVersion, before)
	r.run("moult rewrite")
	commit := r.Push(TwoVersions, r.commit(nil))
	if r.Sync != nil {
		r.Sync()
	}
	r.Await("the manifest is applied", Patience, r.Applied(commit))
	r.run("moult survivors CRD --version NEW")

	crd := edited(r.T, r.guide.file(crdOfGuides), set("served", OldVersion, true, NewVersion, false))
	commit = r.Push(TwoVersions, r.commit(map[string]string{r.CRDFile: crd}))
	if r.Restart != nil {
		r.Restart(commit)
	}
	r.Await("unserved", Patience, r.Applied(commit))
	crd = edited(r.T, crd, func(versions []any) []any { return versions[:1] })
	gate := strings.NewReplacer(Removal, "widgets-v1", "["+OldVersion+"]", "["+NewVersion+"]").Replace(r.gate(true))
	r.Apply(TwoVersions, r.commit(map[string]string{r.CRDFile: crd, r.GateFile: gate}))
	r.Await("the older CRD is there", Patience, r.Versions(OldVersion))
	r.storedAt(OldVersion, before)
}

// playTo plays the page to the next line that begins so.
func (r *reader) playTo(begins string) {
	r.T.Helper()
	r.guide.PlayTo(begins, r.Story, r.sync)
}

// runs makes a commit with a program of the reader.
func (r *reader) runs(program string) {
	r.T.Helper()
	r.Say("$ %s\n%s", program, r.guide.runCommitting(program, r.sync))
}

// sync has the CRD of the reader applied, where it lacks the old version with a gate.
func (r *reader) sync() {
	r.T.Helper()
	changes := map[string]string{}
	if !strings.Contains(r.guide.file(crdOfGuides), "name: "+OldVersion) {
		changes[r.GateFile] = r.gate(true)
	}
	commit := r.Push(TwoVersions, r.commit(changes))
	if r.waits && r.EndSync != nil {
		r.EndSync()
	}
	r.waits = false
	r.Await("applied", Patience, r.Applied(commit))
}

// run runs the first command of the page that begins so.
func (r *reader) run(begins string) {
	r.T.Helper()
	line := strings.NewReplacer("PATH", rose, "FILE", crdOfGuides, "CRD", CRD, "NEW", NewVersion).Replace(r.guide.Line(begins))
	r.Say("$ %s\n%s", line, r.guide.MustRun(line))
}

// change makes the first change of the page that contains a text once more.
func (r *reader) change(text string) {
	changed, err := docs.Block{Text: r.guide.Block("diff", text)}.Apply(r.guide.file(crdOfGuides))
	r.g.Expect(err).NotTo(HaveOccurred())
	r.guide.write(crdOfGuides, changed)
}

// commit is what differs from the example: the CRD as the reader has it, and one of its Widgets.
func (r *reader) commit(changes map[string]string) map[string]string {
	all := map[string]string{r.CRDFile: r.guide.file(crdOfGuides), r.Widget: r.guide.file(rose)}
	maps.Copy(all, changes)
	return all
}

// pushRemoval makes a commit that removes the old version, with a gate, which the reader's folder does not have.
func (r *reader) pushRemoval() (commit string) {
	r.T.Helper()
	crd := edited(r.T, r.guide.file(crdOfGuides), func(versions []any) []any { return versions[1:] })
	return r.Push(TwoVersions, r.commit(map[string]string{r.CRDFile: crd, r.GateFile: r.gate(true)}))
}

// gate is the VersionRemoval of the example.
func (r *reader) gate(unserved bool) string {
	file := r.file(Removed, r.GateFile)
	lines := strings.SplitAfter(Files(r.T, file)[file], "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return !unserved && strings.HasPrefix(line, "  require:") }), "")
}

// storedAt looks at the bytes in etcd, and reads every object at the version.
func (r *reader) storedAt(version string, before Widgets) {
	r.T.Helper()
	r.g.Expect(r.Stored(r.T)).To(Equal(map[string]int{version: len(before)}))
	r.g.Expect(r.Widgets(r.T, OldVersion)).To(Equal(before))
	r.Say("all %d widgets are alive and stored at %s", len(before), version)
}
