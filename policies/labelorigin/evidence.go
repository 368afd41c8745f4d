package labelorigin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crds "github.com/moult-dev/moult/api/crd"
)

// evidence is everything a verdict depends on.
type evidence struct {
	// owners are the entries that own the label.
	owners []metav1.ManagedFieldsEntry
	// applied: the annotation of the last client-side apply names the label; byArgoCD: Argo CD wrote that annotation.
	applied, byArgoCD bool
	tool              trace
	// mode is how Argo CD applies the CRD.
	mode mode
	// replaced is when Argo CD last changed the CRD by replacing it; zero if it never has.
	replaced time.Time
	// fluxSkips is the setting on the CRD that keeps Flux from taking over what kubectl has set; empty if none does.
	fluxSkips string
}

// mode is one of Argo CD's ways to apply.
type mode int

const (
	clientSide mode = iota
	serverSide
	replacing
)

func gather(crd metav1.Object, labelKey string) evidence {
	e := evidence{tool: toolOf(crd), mode: modeOf(crd), fluxSkips: fluxSkips(crd)}
	e.applied = lastApplied(crd.GetAnnotations())[labelKey] != ""
	var annotators []string
	for _, entry := range crd.GetManagedFields() {
		if crds.OwnsField(entry, "metadata", "labels", labelKey) {
			e.owners = append(e.owners, entry)
		}
		if crds.OwnsField(entry, "metadata", "annotations", corev1.LastAppliedConfigAnnotation) {
			annotators = append(annotators, entry.Manager)
		}
		if isReplace(entry) && timeOf(entry).After(e.replaced) {
			e.replaced = timeOf(entry)
		}
	}
	e.byArgoCD = len(annotators) > 0 && !slices.ContainsFunc(annotators, func(m string) bool { return !isArgoCD(m) })
	return e
}

// lastApplied are the labels that the last client-side apply has sent.
func lastApplied(annotations map[string]string) map[string]string {
	manifest := struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}{}
	if json.Unmarshal([]byte(annotations[corev1.LastAppliedConfigAnnotation]), &manifest) != nil {
		return nil
	}
	return manifest.Metadata.Labels
}

// ownerOf names a manager as people find it with `kubectl get --show-managed-fields`.
func ownerOf(entry metav1.ManagedFieldsEntry) string {
	return fmt.Sprintf("field manager %q (%s)", entry.Manager, entry.Operation)
}

func timeOf(entry metav1.ManagedFieldsEntry) time.Time {
	if entry.Time == nil {
		return time.Time{}
	}
	return entry.Time.Time
}

// byHand reports whether a manager is used by a person at a keyboard. A browser names itself Mozilla, and argocd-server
// is Argo CD's user interface.
func byHand(entry metav1.ManagedFieldsEntry) bool {
	return slices.Contains([]string{"k9s", "Mozilla", "argocd-server"}, entry.Manager) || strings.HasPrefix(entry.Manager, "kubectl")
}

// fromAFile reports whether a program has sent a whole manifest for an owner, which may lie in Git: kubectl, Terraform, kapp, Ansible
// or Pulumi.
func fromAFile(entry metav1.ManagedFieldsEntry) bool {
	return slices.Contains([]string{"kubectl", "kubectl-client-side-apply", "kubectl-create", "kubectl-replace", "Terraform", "kapp-server", "ansible"}, entry.Manager) ||
		strings.HasPrefix(entry.Manager, "pulumi-kubernetes")
}
