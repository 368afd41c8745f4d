package argocd_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/e2e/argocd"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/story"
)

// applicationHealth is what Argo CD's manual has for apps of apps, so that a wave waits for an Application.
// https://argo-cd.readthedocs.io/en/stable/operator-manual/health/#argocd-app
const applicationHealth = `
hs = {status = "Progressing", message = ""}
if obj.status ~= nil and obj.status.health ~= nil then
  hs.status = obj.status.health.status
  hs.message = obj.status.health.message or ""
end
return hs
`

// child is an Application in a sync wave of another one. It follows a revision and is synced by itself.
func child(name string, wave int, repo *argocd.Repo, revision string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: %[1]s
  namespace: %[5]s
  annotations: {argocd.argoproj.io/sync-wave: "%[2]d"}
spec:
  project: default
  source: {repoURL: %[3]q, path: %[1]s, targetRevision: %[4]s}
  destination: {server: "https://kubernetes.default.svc", namespace: default}
  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [PrunePropagationPolicy=background]}
`, name, wave, repo.URL(), revision, argocd.Namespace)
}

// What the waves of a parent hold, and what they do not: policies/rollout says so to who reviews a pull request.
func TestWhatTheWavesOfAnAppOfAppsHold(t *testing.T) {
	ctx := t.Context()
	argo, c := start(t, argocd.Options{WaveDelay: 2 * time.Second, Settings: map[string]string{ // as installed
		"resource.customizations.health.e2e.moult.dev_Door":      doorHealth,
		"resource.customizations.health.argoproj.io_Application": applicationHealth,
	}})
	open := func(g *WithT, name string) {
		g.Expect(cluster.PatchStatus(ctx, c, cluster.Object("e2e.moult.dev/v1", "Door", "default", name), map[string]any{"open": true})).To(Succeed())
	}
	named := func(name string) string {
		return fmt.Sprintf("apiVersion: e2e.moult.dev/v1\nkind: Door\nmetadata: {name: %s}\nspec: {lock: 1}\n", name)
	}

	for name, options := range map[string][]string{"applied by the client": nil, "applied by the server": {"ServerSideApply=true"}} {
		t.Run(name, func(t *testing.T) {
			g, s := NewWithT(t), story.Begin(t)
			id := map[bool]string{true: "ssa", false: "csa"}[len(options) > 0]
			front, back, parent := id+"-front", id+"-back", id+"-all"
			value := func(want string) story.Check {
				return func(ctx context.Context) (string, bool, error) {
					found, err := cluster.Get(ctx, c, "v1", "ConfigMap", "default", back)
					if err != nil {
						return err.Error(), want == "", client.IgnoreNotFound(err)
					}
					data, _ := found.Object["data"].(map[string]any)
					return fmt.Sprint(data), data["key"] == want, nil
				}
			}
			repo := argocd.NewRepo(t)
			repo.Commit(map[string]string{
				"apps/front.yaml": child(front, 0, repo, "one"), "apps/back.yaml": child(back, 1, repo, "one"),
				front + "/door.yaml": named(front + "-1"), back + "/behind.yaml": configMap(back, 0, "one"),
			}, "one")
			repo.Tag("one")
			g.Expect(argo.CreateApplication(ctx, parent, repo, "apps", argocd.AutoSync(5, options...))).To(Succeed())

			s.Await("the first child is there", time.Minute, cluster.Exists(c, "e2e.moult.dev/v1", "Door", "default", front+"-1"))
			s.Holds("a child that is not there yet waits for the wave", 5*time.Second, value(""))
			open(g, front+"-1")
			s.Await("then it comes", time.Minute, value("one"))

			// Both children follow another revision in one commit: their own manifests change.
			repo.Commit(map[string]string{front + "/door.yaml": named(front + "-2"), back + "/behind.yaml": configMap(back, 0, "two")}, "two")
			repo.Tag("two")
			repo.Commit(map[string]string{"apps/front.yaml": child(front, 0, repo, "two"), "apps/back.yaml": child(back, 1, repo, "two")}, "both follow two")
			g.Expect(argo.Refresh(ctx, parent)).To(Succeed())
			s.Await("the first child is changed", time.Minute, cluster.Exists(c, "e2e.moult.dev/v1", "Door", "default", front+"-2"))
			s.Say("%s: the second child while the first is not healthy: %v", name, told(ctx, value("two"), 8*time.Second))
			open(g, front+"-2")
			s.Await("then it follows", time.Minute, value("two"))

			// From now on they follow the branch.
			repo.Commit(map[string]string{"apps/front.yaml": child(front, 0, repo, argocd.Branch), "apps/back.yaml": child(back, 1, repo, argocd.Branch)}, "both follow the branch")
			g.Expect(argo.Refresh(ctx, parent)).To(Succeed())
			s.Await("all is well", time.Minute, argo.HealthIs(parent, "", "Healthy"))
			repo.Commit(map[string]string{front + "/door.yaml": named(front + "-3"), back + "/behind.yaml": configMap(back, 0, "three")}, "three")
			for _, one := range []string{parent, front, back} {
				g.Expect(argo.Refresh(ctx, one)).To(Succeed())
			}
			s.Await("the first child is changed", time.Minute, cluster.Exists(c, "e2e.moult.dev/v1", "Door", "default", front+"-3"))
			s.Await("a child whose own manifest does not change waits for nobody", time.Minute, value("three"))
			g.Expect(argo.Status(ctx, front)).To(HaveField("Health", "Progressing"))
		})
	}
}

// told is whether something became so within a time.
func told(ctx context.Context, is story.Check, within time.Duration) string {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if _, done, _ := is(ctx); done {
			return "it went ahead"
		}
	}
	return "it waits"
}
