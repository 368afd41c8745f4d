package judges

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	argolua "github.com/argoproj/argo-cd/v3/util/lua"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moult-dev/moult/lua"
)

const (
	wave    = "argocd.argoproj.io/sync-wave"
	paused  = "moult.dev/paused"
	request = "reconcile.fluxcd.io/requestedAt"
)

func removal(annotations map[string]any) map[string]any {
	metadata := map[string]any{"name": "widgets-v1alpha1", "namespace": "team-a", "generation": int64(2), "finalizers": []any{"example.com/wait"}}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	return map[string]any{
		"apiVersion": "moult.dev/v1alpha1", "kind": gate, "metadata": metadata,
		"spec":   map[string]any{"crdName": "widgets.example.com", "versions": []any{"v1alpha1"}},
		"status": map[string]any{},
	}
}

// perform runs an action from argocd-cm in Argo CD's machine, without open libraries as in the real API server.
func perform(t testing.TB, name string, object map[string]any) (map[string]any, error) {
	t.Helper()
	source := &unstructured.Unstructured{Object: object}
	machine := argolua.VM{ResourceOverrides: map[string]v1alpha1.ResourceOverride{
		"moult.dev/" + gate: {Actions: lua.ArgoCDConfig()[lua.GateActionsKey]},
	}}
	action, err := machine.GetResourceAction(source, name)
	if err != nil {
		return nil, err
	}
	impacted, err := machine.ExecuteResourceAction(source, action.ActionLua, nil)
	if err != nil {
		return nil, err
	}
	g := NewWithT(t)
	g.Expect(impacted).To(HaveLen(1))
	g.Expect(impacted[0].K8SOperation).To(Equal(argolua.PatchOperation))
	return impacted[0].UnstructuredObj.Object, nil
}

func TestPauseAndResumeChangeOneAnnotation(t *testing.T) {
	for name, c := range map[string]struct {
		action       string
		before, want map[string]any
	}{
		"pause, without annotations":           {"pause", nil, map[string]any{paused: "true"}},
		"pause, beside others":                 {"pause", map[string]any{wave: "-1"}, map[string]any{wave: "-1", paused: "true"}},
		"pause, paused already":                {"pause", map[string]any{paused: "true"}, map[string]any{paused: "true"}},
		"resume":                               {"resume", map[string]any{paused: "true"}, map[string]any{}},
		"resume, beside others":                {"resume", map[string]any{wave: "-1", paused: "true"}, map[string]any{wave: "-1"}},
		"resume, without annotations":          {"resume", nil, nil},
		"resume, paused is written otherwise":  {"resume", map[string]any{paused: "yes"}, map[string]any{}},
		"pause, paused is written otherwise":   {"pause", map[string]any{paused: "yes"}, map[string]any{paused: "true"}},
		"resume, there is nothing to take off": {"resume", map[string]any{wave: "-1"}, map[string]any{wave: "-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := perform(t, c.action, removal(c.before))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(asJSON(t, got)).To(MatchJSON(asJSON(t, removal(c.want))), "nothing else may change")
		})
	}
}

func TestRetryNowAsksWithTheTime(t *testing.T) {
	g := NewWithT(t)
	before := time.Now().UTC().Truncate(time.Second)
	got, err := perform(t, "retry-now", removal(map[string]any{wave: "-1", request: "2020-01-01T00:00:00Z"}))
	g.Expect(err).NotTo(HaveOccurred())
	annotations := (&unstructured.Unstructured{Object: got}).GetAnnotations()
	asked, err := time.Parse(time.RFC3339, annotations[request])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked).To(BeTemporally(">=", before))
	g.Expect(asked).To(BeTemporally("<=", time.Now()))
	want := removal(map[string]any{wave: "-1", request: annotations[request]})
	g.Expect(asJSON(t, got)).To(MatchJSON(asJSON(t, want)), "nothing else may change")
}

func TestAnActionWorksWhateverTheObjectIs(t *testing.T) {
	for name, metadata := range map[string]any{
		"the metadata is missing":          nil,
		"the metadata is a string":         "widgets",
		"the metadata is a list":           []any{"widgets"},
		"the annotations are a number":     map[string]any{"annotations": 7.0},
		"the annotations are a list":       map[string]any{"annotations": []any{paused}},
		"the annotations are an empty one": map[string]any{"annotations": []any{}},
		"the annotation is a map":          map[string]any{"annotations": map[string]any{paused: map[string]any{}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object := map[string]any{"apiVersion": "moult.dev/v1alpha1", "kind": gate, "metadata": metadata}
			for action, annotation := range map[string]string{"pause": paused, "resume": paused, "retry-now": request} {
				changed, err := perform(t, action, object)
				g.Expect(err).NotTo(HaveOccurred(), action)
				_, found, _ := unstructured.NestedString(changed, "metadata", "annotations", annotation)
				g.Expect(found).To(Equal(action != "resume"), action)
			}
			g.Expect(discover(t, object)).To(HaveLen(3))
		})
	}
}

func TestOnlyWhatMakesSenseIsOffered(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]any
		want        []string
	}{
		"at first":                    {nil, []string{"retry-now", "pause"}},
		"while paused":                {map[string]any{paused: "true"}, []string{"resume"}},
		"paused is written otherwise": {map[string]any{paused: "yes"}, []string{"retry-now", "pause"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			offered, err := discover(t, removal(c.annotations))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(offered).To(HaveLen(3))
			var enabled []string
			for _, action := range offered {
				if !action.Disabled {
					enabled = append(enabled, action.Name)
				}
			}
			g.Expect(enabled).To(ConsistOf(c.want))
		})
	}
}

func discover(t testing.TB, object map[string]any) ([]v1alpha1.ResourceAction, error) {
	t.Helper()
	return argolua.VM{}.ExecuteResourceActionDiscovery(&unstructured.Unstructured{Object: object}, []string{actions(t).ActionDiscoveryLua})
}

func TestEveryActionThatIsOfferedExists(t *testing.T) {
	g := NewWithT(t)
	offered, err := discover(t, removal(nil))
	g.Expect(err).NotTo(HaveOccurred())
	var names, defined []string
	for _, action := range offered {
		names = append(names, action.Name)
	}
	for _, definition := range actions(t).Definitions {
		defined = append(defined, definition.Name)
	}
	g.Expect(defined).To(ConsistOf(names))
}

func asJSON(t testing.TB, object map[string]any) []byte {
	t.Helper()
	content, err := json.Marshal(object)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return content
}

func fromJSON(content []byte) (map[string]any, bool) {
	object := map[string]any{}
	return object, utiljson.Unmarshal(content, &object) == nil && object != nil
}
