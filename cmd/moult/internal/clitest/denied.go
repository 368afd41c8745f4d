package clitest

import (
	"context"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/moult-dev/moult/test/running"
)

// Denies installs policies/admission/deny for as long as the test runs. Tests that run after it must not meet it, so it
// ends when the API server has forgotten the policies.
func (w *World) Denies() {
	w.T.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../../../policies/admission/deny")
	w.Expect(err).NotTo(HaveOccurred())
	c := running.Client(w.T, (*w.suite.ControlPlane).Config)
	const claim = `{"status":{"conditions":[{"type":"StorageMigrated","status":"True","reason":"Claimed","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`
	refused := func() bool {
		_, err := w.CRDs().Patch(context.Background(), w.CRD.Name, types.MergePatchType, []byte(claim),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		return apierrors.IsForbidden(err)
	}
	deleted := func() bool {
		return apierrors.IsForbidden(w.CRDs().Delete(context.Background(), w.CRD.Name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
	}
	var installed []client.Object
	w.T.Cleanup(func() {
		for _, o := range installed {
			w.Expect(c.Delete(context.Background(), o)).To(Succeed())
		}
		w.Eventually(func() bool { return refused() || deleted() }, running.Soon).Should(BeFalse())
	})
	for _, resource := range built.Resources() {
		content, err := resource.Map()
		w.Expect(err).NotTo(HaveOccurred())
		object := &unstructured.Unstructured{Object: content}
		w.Expect(c.Create(w.T.Context(), object)).To(Succeed())
		installed = append(installed, object)
	}
	w.Eventually(func() bool { return refused() && deleted() }, running.Soon).Should(BeTrue())
}
