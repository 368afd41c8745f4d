package doctor

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/policies/doctor"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// world is a test's CRD, and what else the doctor looks at.
type world struct{ *clitest.World }

// gate creates a VersionRemoval that no controller answers.
func (w *world) gate() {
	w.T.Helper()
	running.InstallGate(w.T, cp.Config)
	removal := &v1alpha1.VersionRemoval{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace(), Name: "no-v1alpha1"},
		Spec:       v1alpha1.VersionRemovalSpec{CRDName: w.CRD.Name, Versions: []string{"v1alpha1"}},
	}
	w.Expect(running.Client(w.T, cp.Config).Create(w.T.Context(), removal)).To(Succeed())
}

// stores puts revisions of the release widgets where Helm does, in a namespace of their own.
func (w *world) stores(revisions ...map[string]any) (namespace string) {
	w.T.Helper()
	namespace = w.Namespace()
	for _, r := range revisions {
		content, err := json.Marshal(r)
		w.Expect(err).NotTo(HaveOccurred())
		packed := &bytes.Buffer{}
		zip := gzip.NewWriter(packed)
		_, err = zip.Write(content)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(zip.Close()).To(Succeed())
		w.secret(namespace, fmt.Sprintf("sh.helm.release.v1.widgets.v%d", r["version"]), []byte(base64.StdEncoding.EncodeToString(packed.Bytes())))
	}
	return namespace
}

func (w *world) secret(namespace, name string, release []byte) {
	w.T.Helper()
	secrets := kubernetes.NewForConfigOrDie(cp.Config).CoreV1().Secrets(namespace)
	_, err := secrets.Create(w.T.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"owner": "helm"}}, Type: "helm.sh/release.v1", Data: map[string][]byte{"release": release},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.T.Cleanup(func() { _ = secrets.Delete(context.Background(), name, metav1.DeleteOptions{}) })
}

// revision is one as Helm stores it, with the files of its chart.
func revision(version int, status, manifest string, files map[string]string) map[string]any {
	stored := []map[string]any{}
	for name, content := range files {
		stored = append(stored, map[string]any{"name": name, "data": []byte(content)})
	}
	return map[string]any{
		"name": "widgets", "namespace": "elsewhere", "version": version, "info": map[string]any{"status": status},
		"manifest": manifest, "chart": map[string]any{"files": stored},
	}
}

// manifest is the CRD's, with an annotation.
func (w *world) manifest(annotation string) string {
	return fmt.Sprintf("---\n# Source: widgets/templates/crd.yaml\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: %s\n  annotations: {%s}\nspec: {}\n", w.CRD.Name, annotation)
}

// widget is the manifest of an object.
func (w *world) widget(version string) string {
	return fmt.Sprintf("---\napiVersion: %s/%s\nkind: Widget\nmetadata:\n  name: a\n", w.GR.Group, version)
}

// allows the user of a kubeconfig something in a namespace.
func (w *world) allows(kubeconfig, namespace string, rules ...rbacv1.PolicyRule) {
	w.T.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	w.Expect(err).NotTo(HaveOccurred())
	rbac := kubernetes.NewForConfigOrDie(cp.Config).RbacV1()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "reader"}
	_, err = rbac.Roles(namespace).Create(w.T.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	_, err = rbac.RoleBindings(namespace).Create(w.T.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: config.Impersonate.UserName}},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}

// makes another migrator work on the widgets of a group, and says how far it is. kube-storage-version-migrator's API is
// a CRD; the in-tree migrator's is part of Kubernetes from 1.37 on, and before that a CRD looks the same to readers.
func (w *world) tells(api, name, group, condition string) {
	w.T.Helper()
	version := "v1alpha1"
	if api == doctor.InTree && cp.Minor >= 37 { // the API server's own, on by default
		version = "v1"
	} else {
		w.installsMigrations(api, version)
	}
	objects := dynamic.NewForConfigOrDie(cp.Config).Resource(schema.GroupVersionResource{Group: api, Version: version, Resource: "storageversionmigrations"})
	migration, err := objects.Create(w.T.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": api + "/" + version, "kind": "StorageVersionMigration", "metadata": map[string]any{"generateName": name + "-"},
		"spec": map[string]any{"resource": map[string]any{"group": group, "resource": "widgets"}},
	}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.T.Cleanup(func() { _ = objects.Delete(context.Background(), migration.GetName(), metav1.DeleteOptions{}) })
	_, err = objects.Patch(w.T.Context(), migration.GetName(), types.MergePatchType, fmt.Appendf(nil,
		`{"status":{"conditions":[{"type":%q,"status":"True","reason":"Told","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`, condition), metav1.PatchOptions{}, "status")
	w.Expect(err).NotTo(HaveOccurred())
}

// installsMigrations installs the CRD of a migrator's StorageVersionMigrations, unless another test has.
func (w *world) installsMigrations(api, version string) {
	w.T.Helper()
	crd := builders.CRD(api, "storageversionmigrations").Versions(version).ClusterScoped().WithStatus().
		Annotation("api-approved.kubernetes.io", "unapproved, a test").Build()
	crd.Spec.Names.Kind, crd.Spec.Names.ListKind = "StorageVersionMigration", "StorageVersionMigrationList"
	anything := true
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything}
	if err := builders.Install(w.T.Context(), cp.Config, crd); !apierrors.IsAlreadyExists(err) {
		w.Expect(err).NotTo(HaveOccurred())
	}
}
