package argocd_test

import (
	"context"
	"maps"
	"path"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/e2e/argocd"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
	"github.com/moult-dev/moult/test/e2e/story"
)

// What docs/guides/many-clusters.md says, with its ApplicationSet at a hub, and both of its clusters.
func TestTheGuideAboutManyClusters(t *testing.T) {
	controller := stage.Build(t, "moult-controller")
	tell := func(name string, what func(f *fleet)) {
		t.Run(name, func(t *testing.T) { what(beginFleet(t, controller)) })
	}
	tell("a cluster that is behind waits at its own gate, and holds up no other", oneIsBehind)
	tell("a cluster that has missed commits is repaired by hand", oneMissedCommits)
}

// fleet is a hub and two clusters, in each of which the ApplicationSet has an Application.
type fleet struct {
	*story.Story
	t            *testing.T
	g            *WithT
	argo         *argocd.ArgoCD
	repo         *argocd.Repo
	guide        *stage.Guide
	berlin, oslo *play
}

// beginFleet has the first commit synced to both. The hub has no Moult, and no CRD of VersionRemovals.
func beginFleet(t *testing.T, controller string) *fleet {
	t.Helper()
	hub, berlin, oslo := controlplane.New(t), stage.New(t, controller), stage.New(t, controller)
	f := &fleet{
		t: t, g: NewWithT(t), repo: argocd.NewRepo(t),
		// Started last and so ended first: API servers wait for watches when they stop.
		argo:  start(t, hub.Config, argocd.Options{Settings: gateHealth(), ApplicationSets: argocd.AsInstalled}),
		Story: story.Begin(t),
	}
	f.berlin, f.oslo = f.join(berlin, "berlin"), f.join(oslo, "oslo")
	f.guide = stage.OpenGuide(t, "guides/many-clusters.md", map[string]*rest.Config{"berlin": f.berlin.Config, "oslo": f.oslo.Config})
	commit := f.commit(twoVersions)
	manifest := strings.NewReplacer("https://git.example.com/gitops.git", f.repo.URL(),
		"https://berlin.example.com", f.berlin.Config.Host, "https://oslo.example.com", f.oslo.Config.Host).Replace(f.guide.Block("yaml", "kind: ApplicationSet"))
	objects, err := cluster.Parse([]byte(manifest))
	f.g.Expect(err).NotTo(HaveOccurred())
	c, err := cluster.NewClient(hub.Config)
	f.g.Expect(err).NotTo(HaveOccurred())
	f.g.Expect(cluster.Apply(t.Context(), c, objects...)).To(Succeed())
	f.synced(commit)
	return f
}

// join is a cluster with its Application.
func (f *fleet) join(s *stage.Stage, name string) *play {
	f.t.Helper()
	p := newPlay(f.t, s, f.Story, f.argo, f.repo, "widgets-"+name)
	f.g.Expect(f.argo.AddCluster(f.t.Context(), name, p.Config)).To(Succeed())
	return p
}

func (f *fleet) commit(folder string) string {
	f.t.Helper()
	files := map[string]string{}
	for name, content := range stage.Files(f.t, "examples/argocd/"+folder) {
		files["widgets/"+path.Base(name)] = content
	}
	commit := f.repo.CommitFolder(stage.Commit(f.t, f.t.TempDir(), files), folder)
	f.Say("pushed %s as commit %.7s", folder, commit)
	return commit
}

// synced waits until a commit is applied in clusters, in both if none is named.
func (f *fleet) synced(commit string, in ...*play) {
	f.t.Helper()
	if len(in) == 0 {
		in = []*play{f.berlin, f.oslo}
	}
	for _, p := range in {
		f.Await(p.application+" is there", stage.Patience, func(ctx context.Context) (string, bool, error) {
			return "", true, f.argo.Refresh(ctx, p.application)
		})
		f.Await(p.application, stage.Patience, p.synced(commit))
	}
}

// behind is a check: the loop of the page names exactly these clusters, and ends with 0 if there are none.
func (f *fleet) behind(names ...string) story.Check {
	f.t.Helper()
	loop := f.guide.Block("sh", "is behind")
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name+" is behind"] = true
	}
	return func(ctx context.Context) (string, bool, error) {
		printed, err := f.guide.Run(ctx, loop)
		found := map[string]bool{}
		for line := range strings.Lines(printed) {
			if strings.HasSuffix(line, "is behind\n") {
				found[strings.TrimSpace(line)] = true
			}
		}
		return printed, maps.Equal(found, wanted) && (err == nil) == (len(names) == 0), nil
	}
}

func oneIsBehind(f *fleet) {
	berlin, oslo := f.berlin.CreateWidgets(f.t, 50), f.oslo.CreateWidgets(f.t, 50)
	f.berlin.StartMoult(f.t)
	moult := f.oslo.StartMoult(f.t)
	for _, p := range []*play{f.berlin, f.oslo} {
		p.Witness(f.t, p.RemovalReady(), p.Versions(stage.NewVersion))
	}
	moult.SlowPass(len(oslo))
	f.synced(f.commit(storageFlip))
	f.Await("the loop shows who is behind", stage.Patience, f.behind("oslo"))
	f.synced(f.commit(unserved)) // as if oslo had been restored since the loop has passed

	commit := f.commit(removal)
	f.synced(commit, f.berlin)
	f.berlin.AllAlive(berlin)
	waiting := stage.All(f.oslo.waitsFor(commit, theGate), f.oslo.StoredAtOld(), f.oslo.Versions(stage.OldVersion, stage.NewVersion))
	f.Await("oslo waits at its own gate", stage.Patience, waiting)
	f.Holds("while berlin has the removal", 10*time.Second, stage.All(waiting, f.berlin.Versions(stage.NewVersion)))
	f.Await("and is ready", stage.Patience, f.berlin.RemovalSays(v1alpha1.ReasonAlreadyRemoved))

	moult.SlowWrites(0)
	f.synced(commit)
	f.Await("oslo has the removal", stage.Patience, f.oslo.Versions(stage.NewVersion))
	f.oslo.AllAlive(oslo)
	f.Await("nobody is behind", stage.Patience, f.behind())
}

// oneMissedCommits has a cluster that cannot be reached while the others get the second commit and the third.
func oneMissedCommits(f *fleet) {
	berlin, oslo := f.berlin.CreateWidgets(f.t, 20), f.oslo.CreateWidgets(f.t, 20)
	f.g.Expect(f.argo.RemoveCluster(f.t.Context(), "oslo")).To(Succeed())
	for _, p := range []*play{f.berlin, f.oslo} {
		p.StartMoult(f.t)
		p.Witness(f.t, p.RemovalReady(), p.Versions(stage.NewVersion))
	}
	f.synced(f.commit(storageFlip), f.berlin)
	f.Await("the loop shows who is behind", stage.Patience, f.behind("oslo"))
	f.synced(f.commit(unserved), f.berlin)
	commit := f.commit(removal)
	f.synced(commit, f.berlin)
	f.berlin.AllAlive(berlin)

	f.g.Expect(f.argo.AddCluster(f.t.Context(), "oslo", f.oslo.Config)).To(Succeed())
	f.Say("oslo is back")
	f.Await("its gate refuses the last commit alone", stage.Patience, f.oslo.Refused(commit))
	f.Await("kubectl get vr", stage.Patience, f.oslo.RemovalSays(v1alpha1.ReasonIntermediateRevisionRequired))
	f.g.Expect(f.oslo.Stored(f.t)).To(Equal(map[string]int{stage.OldVersion: len(oslo)}))

	f.g.Expect(f.argo.SetAutomated(f.t.Context(), f.oslo.application, nil)).To(Succeed())
	f.g.Expect(f.argo.Terminate(f.t.Context(), f.oslo.application)).To(Succeed())
	f.Holds("the automated sync stays off", 10*time.Second, f.automated(false))
	in := f.guide.In(strings.TrimPrefix(f.repo.URL(), "file://"))
	f.oslo.RepairByHand(f.guide, in, "oslo")
	f.g.Expect(f.argo.SetAutomated(f.t.Context(), f.oslo.application, map[string]any{"selfHeal": true})).To(Succeed())
	f.g.Expect(f.argo.Sync(f.t.Context(), f.oslo.application)).To(Succeed())
	f.Await("synced", stage.Patience, f.oslo.synced(commit))
	f.oslo.AllAlive(oslo)
	f.Await("nobody is behind", stage.Patience, f.behind())
}

// automated is a check: the automated sync of oslo's Application is on, or off.
func (f *fleet) automated(wanted bool) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		on, err := f.argo.IsAutomated(ctx, f.oslo.application)
		if on {
			return "it is on", wanted, err
		}
		return "it is off", !wanted, err
	}
}
