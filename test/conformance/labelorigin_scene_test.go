package conformance

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/retry"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
)

// scene is one CRD, on which tools and people write as they do: with their field managers and kinds of request.
type scene struct {
	*WithT
	ctx  context.Context
	crds apiextensions.CustomResourceDefinitionInterface
	// git is the manifest in Git, without the label unless a test puts it in.
	git *apiextensionsv1.CustomResourceDefinition
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{
		WithT: NewWithT(t), ctx: t.Context(), crds: apiextensions.NewForConfigOrDie(cp.Config).CustomResourceDefinitions(),
		git: builders.CRD(builders.UniqueGroup(t), "widgets").Build(),
	}
	s.git.APIVersion, s.git.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	t.Cleanup(func() { _ = s.crds.Delete(context.Background(), s.git.Name, metav1.DeleteOptions{}) })
	return s
}

func labelled(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	crd = crd.DeepCopy()
	metav1.SetMetaDataLabel(&crd.ObjectMeta, v1alpha1.MigrateLabel, v1alpha1.MigrateLabelValue)
	return crd
}

func (s *scene) live() *apiextensionsv1.CustomResourceDefinition {
	crd, err := s.crds.Get(s.ctx, s.git.Name, metav1.GetOptions{})
	s.Expect(err).NotTo(HaveOccurred())
	return crd
}

func (s *scene) exists() bool {
	_, err := s.crds.Get(s.ctx, s.git.Name, metav1.GetOptions{})
	return err == nil
}

func (s *scene) patch(kind types.PatchType, body []byte, manager string, force bool) {
	opts := metav1.PatchOptions{FieldManager: manager}
	if kind == types.ApplyPatchType {
		opts.Force = &force
	}
	_, err := s.crds.Patch(s.ctx, s.git.Name, kind, body, opts)
	s.Expect(err).NotTo(HaveOccurred(), string(body))
}

// label is `kubectl label`, or another program that patches the label alone.
func (s *scene) label(manager string) {
	s.patch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+v1alpha1.MigrateLabel+`":"true"}}}`), manager, false)
}

// serverSideApply is one request.
func (s *scene) serverSideApply(manager string, manifest *apiextensionsv1.CustomResourceDefinition) {
	s.patch(types.ApplyPatchType, s.json(manifest), manager, true)
}

// clientSideApply does as kubectl does with a type it does not know (kubectl v0.36.4, pkg/cmd/apply/patcher.go): the
// last manifest, the new one and the live object make a JSON merge patch.
func (s *scene) clientSideApply(manager string, manifest *apiextensionsv1.CustomResourceDefinition) {
	manifest = manifest.DeepCopy()
	delete(manifest.Annotations, corev1.LastAppliedConfigAnnotation)
	metav1.SetMetaDataAnnotation(&manifest.ObjectMeta, corev1.LastAppliedConfigAnnotation, string(s.json(manifest)))
	if !s.exists() {
		_, err := s.crds.Create(s.ctx, manifest, metav1.CreateOptions{FieldManager: manager})
		s.Expect(err).NotTo(HaveOccurred())
		return
	}
	live := s.live()
	live.APIVersion, live.Kind = manifest.APIVersion, manifest.Kind
	body, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(live.Annotations[corev1.LastAppliedConfigAnnotation]), s.json(manifest), s.json(live))
	s.Expect(err).NotTo(HaveOccurred())
	if string(body) != "{}" {
		s.patch(types.MergePatchType, body, manager, false)
	}
}

// takeOver makes the fields of kubectl's managers another's. Argo CD does it for kubectl-client-side-apply, by the very
// function used here; Flux for all whose name begins with kubectl, whatever their operation.
func (s *scene) takeOver(manager string, from func(metav1.ManagedFieldsEntry) bool) {
	s.Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live := s.live()
		names := sets.New[string]()
		for i, entry := range live.ManagedFields {
			if from(entry) && entry.Subresource == "" {
				names.Insert(entry.Manager)
				live.ManagedFields[i].Operation = metav1.ManagedFieldsOperationUpdate // what the function looks for
			}
		}
		if names.Len() == 0 {
			return nil
		}
		body, err := csaupgrade.UpgradeManagedFieldsPatch(live, names, manager)
		s.Expect(err).NotTo(HaveOccurred())
		_, err = s.crds.Patch(s.ctx, s.git.Name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: manager})
		return err
	})).To(Succeed())
}

func (s *scene) json(crd *apiextensionsv1.CustomResourceDefinition) []byte {
	raw, err := json.Marshal(crd)
	s.Expect(err).NotTo(HaveOccurred())
	content := map[string]any{}
	s.Expect(json.Unmarshal(raw, &content)).To(Succeed())
	delete(content, "status")
	delete(content["metadata"].(map[string]any), "creationTimestamp")
	raw, err = json.Marshal(content)
	s.Expect(err).NotTo(HaveOccurred())
	return raw
}

// delivery is how a tool brings what is in Git to the cluster.
type delivery func(*scene)

func argoCDClientSide(s *scene) { s.clientSideApply("argocd-controller", s.git) }

func argoCDServerSide(s *scene) {
	if s.exists() {
		s.takeOver("argocd-controller", func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == "kubectl-client-side-apply" && e.Operation == metav1.ManagedFieldsOperationUpdate
		})
	}
	s.serverSideApply("argocd-controller", s.git)
}

func argoCDReplace(s *scene) {
	if !s.exists() {
		_, err := s.crds.Create(s.ctx, s.git, metav1.CreateOptions{FieldManager: "argocd-application-controller"})
		s.Expect(err).NotTo(HaveOccurred())
		return
	}
	s.Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		update := s.git.DeepCopy()
		update.ResourceVersion = s.live().ResourceVersion
		_, err := s.crds.Update(s.ctx, update, metav1.UpdateOptions{FieldManager: "argocd-application-controller"})
		return err
	})).To(Succeed())
}

func flux(s *scene) {
	manifest := s.git.DeepCopy()
	metav1.SetMetaDataLabel(&manifest.ObjectMeta, "kustomize.toolkit.fluxcd.io/name", "crds")
	metav1.SetMetaDataLabel(&manifest.ObjectMeta, "kustomize.toolkit.fluxcd.io/namespace", "flux-system")
	if s.exists() {
		if live := s.live(); live.Annotations["kustomize.toolkit.fluxcd.io/ssa"] != "Merge" {
			if _, applied := live.Annotations[corev1.LastAppliedConfigAnnotation]; applied {
				s.patch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+corev1.LastAppliedConfigAnnotation+`":null}}}`), "kustomize-controller", false)
			}
			s.takeOver("kustomize-controller", func(e metav1.ManagedFieldsEntry) bool {
				return strings.HasPrefix(e.Manager, "kubectl") || e.Manager == "before-first-apply"
			})
		}
	}
	s.serverSideApply("kustomize-controller", manifest)
}

// helm is an install, and then an upgrade that has nothing to change: Helm compares two manifests for types it does not
// know, and not with what is live.
func helm(s *scene) {
	if s.exists() {
		return
	}
	manifest := s.git.DeepCopy()
	metav1.SetMetaDataLabel(&manifest.ObjectMeta, "app.kubernetes.io/managed-by", "Helm")
	metav1.SetMetaDataAnnotation(&manifest.ObjectMeta, "meta.helm.sh/release-name", "widgets")
	metav1.SetMetaDataAnnotation(&manifest.ObjectMeta, "meta.helm.sh/release-namespace", "apps")
	_, err := s.crds.Create(s.ctx, manifest, metav1.CreateOptions{FieldManager: "helm"})
	s.Expect(err).NotTo(HaveOccurred())
}

// kubectlCreate is `kubectl create`.
func kubectlCreate(s *scene) {
	_, err := s.crds.Create(s.ctx, s.git, metav1.CreateOptions{FieldManager: "kubectl-create"})
	s.Expect(err).NotTo(HaveOccurred())
}
