package argocd_test

import (
	"testing"

	engine "github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/health/argocd"
	"github.com/moult-dev/moult/test/verdicts"
)

func TestTheEngineTakesOurVerdicts(t *testing.T) {
	g := NewWithT(t)
	fixtures, err := verdicts.Read("../../lua")
	g.Expect(err).NotTo(HaveOccurred())
	for _, f := range fixtures {
		t.Run(f.Kind+"/"+f.Name, func(t *testing.T) {
			g := NewWithT(t)
			content, err := f.Object()
			g.Expect(err).NotTo(HaveOccurred())
			object := &unstructured.Unstructured{Object: content}
			want := &engine.HealthStatus{Status: engine.HealthStatusCode(f.Status), Message: f.Message}
			if object.GetDeletionTimestamp() != nil {
				want.Message = "Pending deletion" // the engine does not ask us then
			}
			g.Expect(engine.GetResourceHealth(object, argocd.Override{})).To(Equal(want))
		})
	}
}

func TestOtherObjectsAreNotOurs(t *testing.T) {
	for name, object := range map[string]*unstructured.Unstructured{
		"no object":                        nil,
		"nothing in it":                    {},
		"a ConfigMap":                      kind("v1", "ConfigMap"),
		"a VersionRemoval of other people": kind("example.com/v1", "VersionRemoval"),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			status, err := argocd.Override{}.GetResourceHealth(object)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(status).To(BeNil())
		})
	}
}

func TestTheEngineStillJudgesWhatItKnows(t *testing.T) {
	g := NewWithT(t)
	pod := kind("v1", "Pod")
	pod.Object["status"] = map[string]any{"phase": "Succeeded"}
	g.Expect(engine.GetResourceHealth(pod, argocd.Override{})).To(HaveField("Status", engine.HealthStatusHealthy))
}

func kind(apiVersion, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": name}}
}
