package judges

import (
	"context"
	"fmt"
	"testing"

	engine "github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	argolua "github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/health"
	"github.com/moult-dev/moult/lua"
	"github.com/moult-dev/moult/test/verdicts"
)

const (
	gate = "VersionRemoval"
	crd  = "CustomResourceDefinition"
)

// luaFolder is the repository's folder lua, seen from here.
const luaFolder = "../../lua"

func fixtures(t testing.TB) []verdicts.Fixture {
	t.Helper()
	g := NewWithT(t)
	all, err := verdicts.Read(luaFolder)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(all)).To(BeNumerically(">=", 25))
	return all
}

// inArgoCD runs the script that lies in argocd-cm for the object, in Argo CD's own machine. With openLibs it has the
// string and math libraries, as upstream's tests have and the real controller has not.
func inArgoCD(object map[string]any, openLibs bool) (*engine.HealthStatus, error) {
	overrides := argolua.ResourceHealthOverrides{
		"moult.dev/" + gate:           {HealthLua: lua.ArgoCDConfig()[lua.GateHealthKey], UseOpenLibs: openLibs},
		"apiextensions.k8s.io/" + crd: {HealthLua: lua.ArgoCDConfig()[lua.CRDHealthKey], UseOpenLibs: openLibs},
	}
	return overrides.GetResourceHealth(&unstructured.Unstructured{Object: object})
}

// asArgoCDShipsIt is the verdict of Argo CD's built-in script for CRDs.
func asArgoCDShipsIt(object map[string]any) (*engine.HealthStatus, error) {
	return argolua.ResourceHealthOverrides{}.GetResourceHealth(&unstructured.Unstructured{Object: object})
}

func inGo(kind string, object map[string]any) health.Verdict {
	if kind == gate {
		return health.VersionRemoval(object)
	}
	return health.CRD(object)
}

// inFlux evaluates the CEL expressions for CRDs in Flux' own evaluator, where the top-level fields are variables.
func inFlux(object map[string]any) (status.Status, error) {
	result, err := flux.Evaluate(context.Background(), &unstructured.Unstructured{Object: object})
	if err != nil {
		return "", err
	}
	return result.Status, nil
}

var flux = func() *cel.StatusEvaluator {
	evaluator, err := cel.NewStatusEvaluator(&kustomize.HealthCheckExpressions{
		InProgress: health.FluxCRDExpressions.InProgress,
		Failed:     health.FluxCRDExpressions.Failed,
		Current:    health.FluxCRDExpressions.Current,
	})
	if err != nil {
		panic(fmt.Sprintf("the expressions do not parse: %v", err))
	}
	return evaluator
}()

// inKStatus is what Flux makes of an object without any expressions: a status, or Error.
func inKStatus(object map[string]any) status.Status {
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		return "Error"
	}
	return result.Status
}

// meaning translates kstatus' words into Argo CD's.
func meaning(s status.Status) health.Status {
	switch s {
	case status.CurrentStatus:
		return health.Healthy
	case status.InProgressStatus, status.TerminatingStatus:
		return health.Progressing
	case status.FailedStatus:
		return health.Degraded
	case status.NotFoundStatus, status.UnknownStatus:
	}
	return health.Status(s)
}

// actions is what lies in argocd-cm for the actions, as Argo CD reads it.
func actions(t testing.TB) v1alpha1.ResourceActions {
	t.Helper()
	override := v1alpha1.ResourceOverride{Actions: lua.ArgoCDConfig()[lua.GateActionsKey]}
	read, err := override.GetActions()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return read
}
