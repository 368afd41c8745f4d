package argocd_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/e2e/argocd"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/story"
)

// twoSteps is an ApplicationSet of two Applications that sync by themselves: front, with a Door, and in a later step back.
const twoSteps = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: SET, namespace: argocd}
spec:
  syncPolicy: {preserveResourcesOnDeletion: true} # else Applications are deleted with what they have applied
  generators: [{list: {elements: [{name: front, step: first}, {name: back, step: second}]}}]
  strategy:
    type: RollingSync
    rollingSync:
      steps:
      - matchExpressions: [{key: step, operator: In, values: [first]}]
      - matchExpressions: [{key: step, operator: In, values: [second]}]
  template:
    metadata: {name: 'SET-{{name}}', labels: {step: '{{step}}'}}
    spec:
      project: default
      source: {repoURL: "ADDRESS", path: '{{name}}', targetRevision: REVISION}
      destination: {server: "https://kubernetes.default.svc", namespace: default}
      syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [PrunePropagationPolicy=background]}
`

// rolling is one ApplicationSet with its repository.
type rolling struct {
	*story.Story

	t    *testing.T
	g    *WithT
	argo *argocd.ArgoCD
	c    client.Client
	repo *argocd.Repo
	set  string
	// edits are what the manifest has in place of something else.
	edits []string
}

func startRolling(t *testing.T, how argocd.ApplicationSets) *rolling {
	t.Helper()
	argo, c := start(t, argocd.Options{ApplicationSets: how, Settings: map[string]string{
		"resource.customizations.health.e2e.moult.dev_Door": doorHealth,
	}})
	return &rolling{argo: argo, c: c}
}

// begin makes another ApplicationSet, with edits of twoSteps, and removes it when the story is over.
func (r *rolling) begin(t *testing.T, set string, edits ...string) *rolling {
	t.Helper()
	n := &rolling{Story: story.Begin(t), t: t, g: NewWithT(t), argo: r.argo, c: r.c, repo: argocd.NewRepo(t), set: set, edits: edits}
	t.Cleanup(func() {
		applicationSet := cluster.Object("argoproj.io/v1alpha1", "ApplicationSet", argocd.Namespace, set)
		n.g.Expect(client.IgnoreNotFound(n.c.Delete(context.Background(), applicationSet))).To(Succeed())
		for _, name := range []string{n.front(), n.back()} {
			n.g.Expect(client.IgnoreNotFound(n.argo.DeleteApplication(context.Background(), name))).To(Succeed())
		}
	})
	return n
}

func (r *rolling) front() string { return r.set + "-front" }
func (r *rolling) back() string  { return r.set + "-back" }

// apply applies the ApplicationSet at a revision.
func (r *rolling) apply(revision string) {
	r.t.Helper()
	manifest := strings.NewReplacer(append(r.edits, "SET", r.set, "ADDRESS", r.repo.URL(), "REVISION", revision)...).Replace(twoSteps)
	objects, err := cluster.Parse([]byte(manifest))
	r.g.Expect(err).NotTo(HaveOccurred())
	r.g.Expect(cluster.Apply(r.t.Context(), r.c, objects...)).To(Succeed())
}

// commit puts a shut door into front, and a value into back. It is tagged, too.
func (r *rolling) commit(value string) {
	r.t.Helper()
	r.repo.Commit(map[string]string{
		"front/door.yaml":  fmt.Sprintf("apiVersion: e2e.moult.dev/v1\nkind: Door\nmetadata: {name: %s}\nspec: {lock: 1}\n", r.door(value)),
		"back/behind.yaml": configMap(r.back(), 0, value),
	}, value)
	r.repo.Tag(value)
}

func (r *rolling) door(value string) string { return r.set + "-" + value }

// open opens the door of a commit.
func (r *rolling) open(value string) time.Time {
	r.t.Helper()
	door := cluster.Object("e2e.moult.dev/v1", "Door", "default", r.door(value))
	r.g.Expect(cluster.PatchStatus(r.t.Context(), r.c, door, map[string]any{"open": true})).To(Succeed())
	return r.Say("door %s opened", value)
}

// behind is a check: back has applied that value; empty is none at all.
func (r *rolling) behind(want string) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		found, err := cluster.Get(ctx, r.c, "v1", "ConfigMap", "default", r.back())
		if err != nil {
			return "nothing there", want == "", client.IgnoreNotFound(err)
		}
		value, _, _ := unstructured.NestedString(found.Object, "data", "key")
		return value, value == want, nil
	}
}

func (r *rolling) shut(value string) story.Check {
	return cluster.Exists(r.c, "e2e.moult.dev/v1", "Door", "default", r.door(value))
}

func (r *rolling) refresh(name string) {
	r.t.Helper()
	r.g.Expect(r.argo.Refresh(r.t.Context(), name)).To(Succeed())
}

// follows is a check: the Application has that revision in its spec.
func (r *rolling) follows(name, revision string) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		application, err := r.argo.Application(ctx, name)
		if err != nil {
			return "", false, err
		}
		found, _, _ := unstructured.NestedString(application.Object, "spec", "source", "targetRevision")
		return found, found == revision, nil
	}
}

// slowFront are files with which it takes kustomize a while to build front, of which nothing else comes than the door.
func slowFront() map[string]string {
	var passing strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&passing, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: passing-%d}\n", i)
	}
	return map[string]string{
		"front/passing.yaml": passing.String(),
		"front/kustomization.yaml": `resources: [door.yaml, passing.yaml]
patches: [{target: {kind: ConfigMap}, patch: "{$patch: delete, apiVersion: v1, kind: ConfigMap, metadata: {name: all}}"}]
`,
	}
}

// settled is a check: the controller of ApplicationSets counts both Applications as healthy.
func (r *rolling) settled(ctx context.Context) (string, bool, error) {
	set, err := cluster.Get(ctx, r.c, "argoproj.io/v1alpha1", "ApplicationSet", argocd.Namespace, r.set)
	if err != nil {
		return "", false, err
	}
	all, _, _ := unstructured.NestedSlice(set.Object, "status", "applicationStatus")
	seen, healthy := "", 0
	for _, one := range all {
		status, _ := one.(map[string]any)
		seen += fmt.Sprintf("%v: %v (%v) ", status["application"], status["status"], status["message"])
		if status["status"] == "Healthy" {
			healthy++
		}
	}
	return seen, healthy == 2, nil
}

// started has both Applications there, healthy, at the value "one".
func (r *rolling) started(revision string) {
	r.t.Helper()
	r.commit("one")
	r.apply(revision)
	r.Await("the first step is there", time.Minute, r.shut("one"))
	r.open("one")
	r.Await("and the second", time.Minute, r.behind("one"))
	r.Await("all is well", time.Minute, r.settled)
}

// What the steps of a RollingSync hold, and what they do not: policies/rollout says so to who reviews a pull request.
func TestWhatTheStepsOfARollingSyncHold(t *testing.T) {
	argo := startRolling(t, argocd.WithProgressiveSyncs)

	t.Run("an Application that is not there yet waits for the step before", func(t *testing.T) {
		r := argo.begin(t, "new")
		r.commit("one")
		r.apply(argocd.Branch)
		r.Await("the first step is there", time.Minute, r.shut("one"))
		for _, name := range []string{r.front(), r.back()} {
			application, err := r.argo.Application(t.Context(), name)
			r.g.Expect(err).NotTo(HaveOccurred())
			automated, _, _ := unstructured.NestedMap(application.Object, "spec", "syncPolicy", "automated")
			r.g.Expect(automated).To(HaveKeyWithValue("enabled", false), "automated sync of %s", name)
		}
		r.Holds("the second step is created and not synced", 8*time.Second, r.behind(""))
		opened := r.open("one")
		r.Say("the second step came after %s", r.Await("then it comes", time.Minute, r.behind("one")).Sub(opened).Round(10*time.Millisecond))
	})

	t.Run("what follows a branch is held only if the first step is compared first", func(t *testing.T) {
		r := argo.begin(t, "branch")
		r.started(argocd.Branch)

		r.refresh(r.back()) // so that it is not compared by itself for some seconds
		r.commit("two")
		r.refresh(r.front())
		r.Await("the first step is changed", time.Minute, r.shut("two"))
		r.refresh(r.back())
		r.Holds("the second step waits", 10*time.Second, r.behind("one"))
		opened := r.open("two")
		r.Say("the second step came after %s", r.Await("then it comes", time.Minute, r.behind("two")).Sub(opened).Round(10*time.Millisecond))
		r.Await("all is well", time.Minute, r.settled)

		r.refresh(r.front())
		r.commit("three")
		committed := r.Say("the second step is compared first")
		r.refresh(r.back())
		r.Say("the second step came after %s", r.Await("it waits for nobody", 30*time.Second, r.behind("three")).Sub(committed).Round(10*time.Millisecond))
		r.Await("the first step comes after it, or with it", time.Minute, r.shut("three"))
		r.Await("and is not healthy", 30*time.Second, r.argo.StatusWhere(r.front(), func(s argocd.Status) bool { return s.Health == "Progressing" }))
	})

	t.Run("a revision that changes in the template reaches both at once", func(t *testing.T) {
		r := argo.begin(t, "pinned")
		r.started("one")

		r.commit("two")
		r.apply("two")
		r.Await("the second step has the revision", 10*time.Second, r.follows(r.back(), "two"))
		r.Await("the first step is changed", time.Minute, r.shut("two"))
		r.Say("compared at the same time, the second step while the first is not healthy: %s", told(t.Context(), r.behind("two"), 8*time.Second))
		r.open("two")
		r.Await("it follows", time.Minute, r.behind("two"))
		r.Await("all is well", time.Minute, r.settled)

		r.repo.Commit(slowFront(), "front takes time to be built")
		r.commit("three")
		r.apply("three")
		r.Await("if the first step takes longer to be compared, the second waits for nobody", time.Minute, r.behind("three"))
		r.Await("the first step comes after it", time.Minute, r.shut("three"))
	})

	t.Run("maxUpdate is no order within a step", func(t *testing.T) {
		r := argo.begin(t, "max", "step: second}", "step: first}", "values: [first]}]", "values: [first]}]\n        maxUpdate: 1")
		r.commit("one")
		r.apply(argocd.Branch)
		r.Say("the other one of the step while front is not healthy: %s", told(t.Context(), r.behind("one"), 8*time.Second))
	})

	for set, edits := range map[string][]string{
		"no-step":     {"step: second}", "step: third}"},
		"none-at-all": {"values: [second]}]", "values: [second]}]\n        maxUpdate: 0"},
	} {
		t.Run("an Application that no step takes is synced by nobody: "+set, func(t *testing.T) {
			r := argo.begin(t, set, edits...)
			r.commit("one")
			r.apply(argocd.Branch)
			r.Await("the first step is there", time.Minute, r.shut("one"))
			r.open("one")
			r.Await("and healthy", time.Minute, r.argo.HealthIs(r.front(), "", "Healthy"))
			r.Holds("the second step waits for a person", 8*time.Second, r.behind(""))
		})
	}
}

func TestWithoutProgressiveSyncsARollingSyncHoldsNothing(t *testing.T) {
	r := startRolling(t, argocd.AsInstalled).begin(t, "ignored")
	r.commit("one")
	r.apply(argocd.Branch)
	r.Await("the first step is there", time.Minute, r.shut("one"))
	r.Await("and so is the second", time.Minute, r.behind("one"))
	r.Await("while the first is not healthy", time.Minute, r.argo.StatusWhere(r.front(), func(s argocd.Status) bool { return s.Health == "Progressing" }))
}
