package conformance

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
)

// How a person labels a CRD past the tool.
func kubectlLabel(s *scene)    { s.label("kubectl-label") }
func kubectlEdit(s *scene)     { s.label("kubectl-edit") }
func kubectlApply(s *scene)    { s.clientSideApply("kubectl-client-side-apply", labelled(s.git)) }
func kubectlApplySSA(s *scene) { s.serverSideApply("kubectl", labelled(s.git)) }
func anOperator(s *scene)      { s.label("widget-operator") }
func inGit(s *scene)           { s.git = labelled(s.git) }
func kubectlApplySSALast(s *scene) {
	// kubectl keeps the annotation of an earlier client-side apply up to date (pkg/cmd/apply/apply.go, saveLastApplied).
	s.serverSideApply("kubectl", labelled(s.git))
	annotation, err := json.Marshal(map[string]any{
		"apiVersion": s.git.APIVersion, "kind": s.git.Kind,
		"metadata": map[string]any{"name": s.git.Name, "annotations": map[string]string{corev1.LastAppliedConfigAnnotation: string(s.json(labelled(s.git)))}},
	})
	s.Expect(err).NotTo(HaveOccurred())
	s.patch(types.ApplyPatchType, annotation, "kubectl-last-applied", true)
}

// What the verdict says is what the tool then does: the next sync is played, twice, and the label looked for.
func TestTheVerdictSaysWhatTheNextSyncDoes(t *testing.T) {
	const release, kustomization = "release apps/widgets", "Kustomization flux-system/crds"
	for name, c := range map[string]struct {
		before func(*scene) // how Git is, when the tool first comes
		tool   delivery
		after  func(*scene) // what somebody does then
		want   labelorigin.Verdict
		says   string
	}{
		"Argo CD, client-side: in Git": {before: inGit, tool: argoCDClientSide,
			want: labelorigin.Verdict{Origin: labelorigin.Git, Tool: labelorigin.ArgoCD}, says: "in what Argo CD applies"},
		"Argo CD, client-side: kubectl label stays": {tool: argoCDClientSide, after: kubectlLabel,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.ArgoCD}, says: `field manager "kubectl-label" (Update) set it, and Argo CD leaves it alone unless it has to replace`},
		"Argo CD, client-side: kubectl apply does not": {tool: argoCDClientSide, after: kubectlApply,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.ArgoCD, Lost: true}, says: "drops what the last one has sent"},
		"Argo CD, client-side: nor kubectl apply --server-side": {tool: argoCDClientSide, after: kubectlApplySSALast,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.ArgoCD, Lost: true}, says: `field manager "kubectl" (Apply)`},
		"Argo CD, client-side: a label that came into Git after kubectl had set it": {tool: argoCDClientSide,
			after: func(s *scene) { kubectlLabel(s); inGit(s); argoCDClientSide(s) },
			want:  labelorigin.Verdict{Origin: labelorigin.Git, Tool: labelorigin.ArgoCD}},
		"Argo CD, client-side: somebody else's": {tool: argoCDClientSide, after: anOperator,
			want: labelorigin.Verdict{Origin: labelorigin.Unknown, Tool: labelorigin.ArgoCD}, says: `field manager "widget-operator" (Update) set it; the CRD does not show`},

		"Argo CD, server-side: in Git": {before: inGit, tool: argoCDServerSide,
			want: labelorigin.Verdict{Origin: labelorigin.Git, Tool: labelorigin.ArgoCD}},
		"Argo CD, server-side: kubectl label stays": {tool: argoCDServerSide, after: kubectlLabel,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.ArgoCD}},
		"Argo CD, server-side: kubectl apply does not": {tool: argoCDServerSide, after: kubectlApply,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.ArgoCD, Lost: true}, says: "takes over what `kubectl apply` has set"},
		"Argo CD, server-side: kubectl apply --server-side stays": {tool: argoCDServerSide, after: kubectlApplySSA,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.ArgoCD}},

		"Argo CD, Replace: in Git": {before: inGit, tool: argoCDReplace,
			want: labelorigin.Verdict{Origin: labelorigin.Git, Tool: labelorigin.ArgoCD}},
		"Argo CD, Replace: kubectl label does not stay": {tool: argoCDReplace, after: kubectlLabel,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.ArgoCD, Lost: true}, says: "Replace=true"},
		"Argo CD, Replace: nor kubectl apply --server-side": {tool: argoCDReplace, after: kubectlApplySSA,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.ArgoCD, Lost: true}},
		"Argo CD, Replace: a label that came into Git after kubectl had set it": {tool: argoCDReplace,
			after: func(s *scene) {
				kubectlLabel(s)
				inGit(s)
				metav1.SetMetaDataAnnotation(&s.git.ObjectMeta, "a-commit", "later")
				time.Sleep(1100 * time.Millisecond) // managedFields tell seconds
				argoCDReplace(s)
			},
			want: labelorigin.Verdict{Origin: labelorigin.Git, Tool: labelorigin.ArgoCD}},
		"Argo CD that an annotation in Git makes replace": {before: func(s *scene) {
			metav1.SetMetaDataAnnotation(&s.git.ObjectMeta, "argocd.argoproj.io/sync-options", "Replace=true")
		}, tool: argoCDReplace, after: kubectlEdit,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.ArgoCD, Lost: true}},
		"Argo CD with the tracking id of an older version": {before: func(s *scene) {
			metav1.SetMetaDataAnnotation(&s.git.ObjectMeta, "argocd.argoproj.io/tracking-id", "widgets:apiextensions.k8s.io/CustomResourceDefinition:/widgets")
		}, tool: argoCDServerSide, after: kubectlEdit,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.ArgoCD, Object: "Application widgets"}},

		"Flux: in Git": {before: inGit, tool: flux,
			want: labelorigin.Verdict{Origin: labelorigin.Git, Tool: labelorigin.Flux, Object: kustomization}, says: "in what Flux applies: Kustomization flux-system/crds"},
		"Flux: kubectl label does not stay": {tool: flux, after: kubectlLabel,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.Flux, Object: kustomization, Lost: true},
			says: `Flux undoes what kubectl has set and Git lacks, so the next reconcile of Kustomization flux-system/crds takes it off, unless Git makes it leave the CRD alone (kustomize.toolkit.fluxcd.io/ssa: Ignore)`},
		"Flux: nor kubectl apply": {tool: flux, after: kubectlApply,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.Flux, Object: kustomization, Lost: true}},
		"Flux: nor kubectl apply --server-side": {tool: flux, after: kubectlApplySSA,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.Flux, Object: kustomization, Lost: true}},
		"Flux: another manager's stays": {tool: flux, after: func(s *scene) { s.label("k9s") },
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.Flux, Object: kustomization}, says: "Flux leaves it alone, but a rebuilt cluster would not have it"},
		"Flux: an operator's stays": {tool: flux, after: anOperator,
			want: labelorigin.Verdict{Origin: labelorigin.Unknown, Tool: labelorigin.Flux, Object: kustomization}},
		"Flux: a label that kubectl and an operator have set stays": {tool: flux,
			after: func(s *scene) { s.serverSideApply("widget-operator", labelled(s.git)); kubectlApplySSA(s) },
			want:  labelorigin.Verdict{Origin: labelorigin.Unknown, Tool: labelorigin.Flux, Object: kustomization}},
		"Flux that is told to merge": {before: func(s *scene) {
			metav1.SetMetaDataAnnotation(&s.git.ObjectMeta, "kustomize.toolkit.fluxcd.io/ssa", "Merge")
		}, tool: flux, after: kubectlLabel,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.Flux, Object: kustomization}, says: "Flux leaves it alone because of kustomize.toolkit.fluxcd.io/ssa: Merge"},

		"Flux that somebody has told by hand not to touch it": {tool: flux, after: func(s *scene) {
			s.patch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"kustomize.toolkit.fluxcd.io/ssa":"IfNotPresent"}}}`), "kubectl-annotate", false)
			kubectlLabel(s)
		},
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.Flux, Object: kustomization, Lost: true}},

		"Flux that is told to merge, and kubectl apply": {before: func(s *scene) {
			metav1.SetMetaDataAnnotation(&s.git.ObjectMeta, "kustomize.toolkit.fluxcd.io/ssa", "Merge")
		}, tool: flux, after: kubectlApply,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.Flux, Object: kustomization}},

		"Helm: in the chart": {before: inGit, tool: helm,
			want: labelorigin.Verdict{Origin: labelorigin.Git, Tool: labelorigin.Helm, Object: release}, says: "in what Helm applies: release apps/widgets"},
		"Helm: kubectl label stays through an upgrade": {tool: helm, after: kubectlLabel,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly, Tool: labelorigin.Helm, Object: release}, says: "unless it is forced"},

		"no tool: kubectl label": {tool: kubectlCreateOnce, after: kubectlLabel,
			want: labelorigin.Verdict{Origin: labelorigin.LiveOnly}, says: "no tool has left a trace"},
		"no tool: kubectl apply may be from Git": {tool: kubectlCreateOnce, after: kubectlApply,
			want: labelorigin.Verdict{Origin: labelorigin.Unknown}},
		"no tool: and so may kubectl apply --server-side": {tool: kubectlCreateOnce, after: kubectlApplySSA,
			want: labelorigin.Verdict{Origin: labelorigin.Unknown}},
		"managedFields were emptied": {before: inGit, tool: kubectlCreateOnce, after: func(s *scene) {
			s.patch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`), "x", false)
		}, want: labelorigin.Verdict{Origin: labelorigin.Unknown}, says: "an unknown field manager set it"},
		"another value is no opt-in": {tool: flux, after: func(s *scene) {
			s.patch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+v1alpha1.MigrateLabel+`":"false"}}}`), "x", false)
		}, want: labelorigin.Verdict{Origin: labelorigin.None, Tool: labelorigin.Flux, Object: kustomization}, says: "not there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			for _, step := range []func(*scene){c.before, c.tool, c.after} {
				if step != nil {
					step(s)
				}
			}
			live := s.live()
			got := labelorigin.Of(live, v1alpha1.MigrateLabel)
			s.Expect(got.String()).To(ContainSubstring(c.says))
			kept := live.DeepCopy()
			cutDown(kept)
			s.Expect(labelorigin.Of(kept, v1alpha1.MigrateLabel)).To(Equal(got), "what the controller's cache keeps tells the same")
			s.Expect(got.Why).To(ContainSubstring(got.Unless))
			s.Expect(got.Unless != "").To(Equal(conditional(got)), "%s", got)
			got.Owner, got.Why, got.Unless = "", "", ""
			s.Expect(got).To(Equal(c.want), "%v", live.ManagedFields)

			optedIn := live.Labels[v1alpha1.MigrateLabel] == "true"
			c.tool(s)
			c.tool(s)
			s.Expect(s.live().Labels[v1alpha1.MigrateLabel] == "true").To(Equal(optedIn && !c.want.Lost), "what the next sync does")
		})
	}
}

// conditional reports whether another way to apply the CRD would make it otherwise.
func conditional(v labelorigin.Verdict) bool {
	switch {
	case v.Origin != labelorigin.LiveOnly:
		return false
	case v.Tool == labelorigin.Flux:
		return v.Lost
	default:
		return !v.Lost && v.Tool != labelorigin.NoTool
	}
}

func kubectlCreateOnce(s *scene) {
	if !s.exists() {
		kubectlCreate(s)
	}
}

// cutDown leaves what the controller's cache keeps.
func cutDown(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.ManagedFields = slices.DeleteFunc(crd.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return !labelorigin.Needs(e, v1alpha1.MigrateLabel)
	})
	crd.Annotations = labelorigin.Annotations(crd.Annotations, v1alpha1.MigrateLabel)
}
