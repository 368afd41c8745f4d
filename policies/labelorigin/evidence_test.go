package labelorigin_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
)

// What an entry of managedFields owns.
const (
	theLabel      = `{"f:metadata":{"f:labels":{"f:` + v1alpha1.MigrateLabel + `":{}}}}`
	theAnnotation = `{"f:metadata":{"f:annotations":{"f:` + corev1.LastAppliedConfigAnnotation + `":{}}}}`
	theSpec       = `{"f:spec":{}}`
)

// wrote is an entry of managedFields, second for second.
func wrote(manager string, operation metav1.ManagedFieldsOperationType, second int64, fields string) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(time.Unix(second, 0))
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

func updated(manager string, second int64, fields string) metav1.ManagedFieldsEntry {
	return wrote(manager, metav1.ManagedFieldsOperationUpdate, second, fields)
}

func applied(manager string, second int64, fields string) metav1.ManagedFieldsEntry {
	return wrote(manager, metav1.ManagedFieldsOperationApply, second, fields)
}

// throughStatus makes it an entry of the status endpoint.
func throughStatus(entry metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	entry.Subresource = "status"
	return entry
}

// cutDown leaves what the controller's cache keeps.
func cutDown(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.ManagedFields = slices.DeleteFunc(crd.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return !labelorigin.Needs(e, v1alpha1.MigrateLabel)
	})
	crd.Annotations = labelorigin.Annotations(crd.Annotations, v1alpha1.MigrateLabel)
	crd.Labels = labelorigin.Labels(crd.Labels, v1alpha1.MigrateLabel)
}

// How each piece of evidence is read: what is hard to bring about on an API server is written down here as it would be
// found. Every CRD carries the label.
func TestHowEvidenceIsRead(t *testing.T) {
	t.Parallel()
	const (
		lastApplied = `{"metadata":{"labels":{"` + v1alpha1.MigrateLabel + `":"true"}}}`
		reconcile   = "kustomize.toolkit.fluxcd.io/reconcile"
		ssa         = "kustomize.toolkit.fluxcd.io/ssa"
	)
	type entries = []metav1.ManagedFieldsEntry
	type pairs = map[string]string
	flux, argoCD := applied("kustomize-controller", 2, theSpec), applied("argocd-controller", 2, theSpec)
	live, lost := labelorigin.Verdict{Origin: labelorigin.LiveOnly}, labelorigin.Verdict{Origin: labelorigin.LiveOnly, Lost: true}
	unknown, inGit := labelorigin.Verdict{Origin: labelorigin.Unknown}, labelorigin.Verdict{Origin: labelorigin.Git}
	with := func(v labelorigin.Verdict, tool labelorigin.Tool) labelorigin.Verdict {
		v.Tool = tool
		return v
	}
	of := func(v labelorigin.Verdict, tool labelorigin.Tool, object string) labelorigin.Verdict {
		v.Tool, v.Object = tool, object
		return v
	}
	kustomized := pairs{"kustomize.toolkit.fluxcd.io/name": "crds", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
	for name, c := range map[string]struct {
		managedFields       entries
		labels, annotations pairs
		want                labelorigin.Verdict
		says                string
	}{
		"the annotation of the last apply is Argo CD's word if Argo CD alone owns it": {
			managedFields: entries{updated("argocd-controller", 2, theAnnotation), updated("kubectl-label", 1, theLabel)},
			annotations:   pairs{corev1.LastAppliedConfigAnnotation: lastApplied}, want: with(inGit, labelorigin.ArgoCD)},
		"the annotation of the last apply is not Argo CD's word if somebody else owns it, too": {
			managedFields: entries{updated("argocd-controller", 1, theAnnotation), applied("kubectl-last-applied", 2, theAnnotation), updated("kubectl-label", 1, theLabel)},
			annotations:   pairs{corev1.LastAppliedConfigAnnotation: lastApplied}, want: with(lost, labelorigin.ArgoCD), says: "drops what the last one has sent"},

		"Flux does not take over what kubectl has set through the status": {
			managedFields: entries{flux, throughStatus(updated("kubectl-edit", 1, theLabel))}, want: with(live, labelorigin.Flux), says: "Flux leaves it alone"},
		"Flux takes over what was there before managedFields were kept": {
			managedFields: entries{flux, updated("before-first-apply", 1, theLabel)}, want: with(lost, labelorigin.Flux), says: `"before-first-apply" (Update)`},
		"Flux does not take over what has been applied under that name": {
			managedFields: entries{flux, applied("before-first-apply", 1, theLabel)}, want: with(unknown, labelorigin.Flux)},
		"Flux that is told not to reconcile leaves the label alone": {
			managedFields: entries{flux, updated("kubectl-label", 1, theLabel)}, annotations: pairs{reconcile: "disabled"},
			want: with(live, labelorigin.Flux), says: "because of " + reconcile + ": disabled"},
		"Flux that a label tells so, in capitals, does, too": {
			managedFields: entries{flux, updated("kubectl-label", 1, theLabel)}, labels: pairs{reconcile: "Disabled"},
			want: with(live, labelorigin.Flux), says: "because of " + reconcile + ": Disabled"},
		"Flux that is told to reconcile takes the label off": {
			managedFields: entries{flux, updated("kubectl-label", 1, theLabel)}, annotations: pairs{reconcile: "enabled"}, want: with(lost, labelorigin.Flux)},
		"Flux that Git tells to apply what is not there leaves the label alone": {
			managedFields: entries{applied("kustomize-controller", 2, `{"f:metadata":{"f:annotations":{"f:`+ssa+`":{}}}}`), updated("kubectl-label", 1, theLabel)},
			annotations:   pairs{ssa: "IfNotPresent"}, want: with(live, labelorigin.Flux), says: "because of " + ssa + ": IfNotPresent"},

		"how Argo CD applies is not seen from what it writes to the status": {
			managedFields: entries{argoCD, throughStatus(updated("argocd-controller", 3, theSpec)), updated("kubectl-client-side-apply", 1, theLabel)},
			want:          with(lost, labelorigin.ArgoCD), says: "a server-side apply of Argo CD takes over"},
		"a write of Argo CD's program to the status is no replacement": {
			managedFields: entries{argoCD, throughStatus(updated("argocd-application-controller", 3, theSpec)), updated("kubectl-label", 1, theLabel)},
			want:          with(live, labelorigin.ArgoCD), says: "unless it has to replace"},
		"a write of Argo CD's program to the CRD is one": {
			managedFields: entries{argoCD, updated("argocd-application-controller", 3, theSpec), updated("kubectl-label", 1, theLabel)},
			want:          with(inGit, labelorigin.ArgoCD)},
		"who clicks in Argo CD's user interface is a person": {
			managedFields: entries{argoCD, updated("argocd-server", 3, theLabel)}, want: with(live, labelorigin.ArgoCD), says: `"argocd-server" (Update) set it`},
		"a click in Argo CD's user interface is no trace of a tool": {
			managedFields: entries{updated("argocd-server", 3, theLabel)}, want: live, says: "no tool has left a trace"},

		"a tool that writes to the status does not apply the CRD": {
			managedFields: entries{flux, throughStatus(updated("argocd-controller", 3, theSpec)), updated("kubectl-label", 1, theLabel)}, want: with(lost, labelorigin.Flux)},
		"a tool that writes to the status alone is no tool": {
			managedFields: entries{throughStatus(updated("argocd-controller", 3, theSpec)), updated("kubectl-label", 1, theLabel)}, want: live, says: "no tool has left a trace"},
		"of two tools the one that applied last counts": {
			managedFields: entries{flux, updated("argocd-controller", 3, theSpec), updated("kubectl-label", 1, theLabel)}, want: with(live, labelorigin.ArgoCD)},
		"the object of one tool is not named for a label that another has set": {
			managedFields: entries{flux, updated("helm", 1, theLabel)},
			labels:        pairs{"kustomize.toolkit.fluxcd.io/name": "crds", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"},
			want:          with(inGit, labelorigin.Helm), says: "in what Helm applies"},

		"of two tools it is not the one that applied first": {
			managedFields: entries{applied("kustomize-controller", 3, theSpec), updated("argocd-controller", 2, theSpec), updated("kubectl-label", 1, theLabel)},
			want:          with(lost, labelorigin.Flux), says: "the next reconcile of Flux takes it off"},
		"a tool of which nothing but its labels is left is named by its object": {
			managedFields: entries{updated("kubectl-label", 1, theLabel)}, labels: kustomized,
			want: of(lost, labelorigin.Flux, "Kustomization flux-system/crds"), says: "the next reconcile of Kustomization flux-system/crds takes it off"},
		"an object without a namespace is named without one": {
			managedFields: entries{applied("argocd-controller", 2, theLabel)}, annotations: pairs{"argocd.argoproj.io/tracking-id": "widgets:apiextensions.k8s.io/CustomResourceDefinition:/widgets"},
			want: of(inGit, labelorigin.ArgoCD, "Application widgets"), says: "in what Argo CD applies: Application widgets"},
		"a chart's release is named with its namespace": {
			managedFields: entries{updated("helm", 2, theSpec), updated("kubectl-label", 1, theLabel)},
			annotations:   pairs{"meta.helm.sh/release-name": "widgets", "meta.helm.sh/release-namespace": "apps"},
			want:          of(live, labelorigin.Helm, "release apps/widgets"), says: "unless it is forced"},
		"Flux that is told to merge leaves the label alone, wherever it is told so": {
			managedFields: entries{flux, updated("kubectl-label", 1, theLabel)}, annotations: pairs{ssa: "Merge"},
			want: with(live, labelorigin.Flux), says: "because of " + ssa + ": Merge"},
		"Flux that is told to ignore the CRD leaves the label alone": {
			managedFields: entries{flux, updated("kubectl-label", 1, theLabel)}, labels: pairs{ssa: "Ignore"},
			want: with(live, labelorigin.Flux), says: "because of " + ssa + ": Ignore"},
		"Flux that a person tells to apply what is not there does not look": {
			managedFields: entries{flux, updated("kubectl-label", 1, theLabel)}, annotations: pairs{ssa: "IfNotPresent"}, want: with(lost, labelorigin.Flux)},
		"Flux that is told what it does not know takes the label off": {
			managedFields: entries{flux, updated("kubectl-label", 1, theLabel)}, annotations: pairs{ssa: "disabled", reconcile: "Merge", "example.com/ssa": "Merge"}, want: with(lost, labelorigin.Flux)},
		"the annotation of a last apply that nobody owns is nobody's word": {
			managedFields: entries{argoCD, updated("kubectl-label", 1, theLabel)}, annotations: pairs{corev1.LastAppliedConfigAnnotation: lastApplied}, want: with(live, labelorigin.ArgoCD)},
		"a label that nobody owns is not what a replacement has brought": {
			managedFields: entries{updated("argocd-application-controller", 3, theSpec)}, want: with(unknown, labelorigin.ArgoCD), says: "an unknown field manager set it"},

		"kubectl create may send a file from Git":                 {managedFields: entries{updated("kubectl-create", 1, theLabel)}, want: unknown},
		"kubectl replace may send a file from Git":                {managedFields: entries{updated("kubectl-replace", 1, theLabel)}, want: unknown},
		"kubectl apply may send a file from Git":                  {managedFields: entries{updated("kubectl-client-side-apply", 1, theLabel)}, want: unknown},
		"kubectl apply --server-side may send a file from Git":    {managedFields: entries{applied("kubectl", 1, theLabel)}, want: unknown},
		"kubectl edit sends no file":                              {managedFields: entries{updated("kubectl-edit", 1, theLabel)}, want: live},
		"kubectl replace sets it by hand where a tool delivers":   {managedFields: entries{argoCD, updated("kubectl-replace", 1, theLabel)}, want: with(live, labelorigin.ArgoCD)},
		"a label that nobody owns tells nothing":                  {managedFields: entries{flux}, want: with(unknown, labelorigin.Flux)},
		"a browser is a person":                                   {managedFields: entries{argoCD, updated("Mozilla", 1, theLabel)}, want: with(live, labelorigin.ArgoCD)},
		"a label that a person and an operator own tells nothing": {managedFields: entries{updated("kubectl-label", 1, theLabel), updated("widget-operator", 1, theLabel)}, want: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
				Labels: pairs{v1alpha1.MigrateLabel: v1alpha1.MigrateLabelValue}, Annotations: c.annotations, ManagedFields: c.managedFields,
			}}
			for key, value := range c.labels {
				crd.Labels[key] = value
			}
			got := labelorigin.Of(crd, v1alpha1.MigrateLabel)
			g.Expect(got.String()).To(ContainSubstring(c.says))
			kept := crd.DeepCopy()
			cutDown(kept)
			g.Expect(labelorigin.Of(kept, v1alpha1.MigrateLabel)).To(Equal(got), "what the controller's cache keeps tells the same")
			got.Owner, got.Why, got.Unless = "", "", ""
			g.Expect(got).To(Equal(c.want))
		})
	}
}

func TestACRDWithoutTheLabelHasNoOrigin(t *testing.T) {
	for name, labels := range map[string]map[string]string{"it has no labels": nil, "the label has another value": {v1alpha1.MigrateLabel: "yes"}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Labels: labels, ManagedFields: []metav1.ManagedFieldsEntry{applied("kustomize-controller", 1, theLabel)}}}
			got := labelorigin.Of(crd, v1alpha1.MigrateLabel)
			g.Expect(got).To(Equal(labelorigin.Verdict{Origin: labelorigin.None, Tool: labelorigin.Flux}))
			g.Expect(got.String()).To(Equal("the label is not there"))
		})
	}
}
