package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/lua"
	"github.com/moult-dev/moult/policies/doctor"
)

// eyes read a cluster for the doctor. What may not be read, or cannot be, is told as such and never ends the examination.
type eyes struct {
	core     kubernetes.Interface
	metadata metadata.Interface
	objects  dynamic.Interface
	routes   routes
}

func newEyes(cfg *rest.Config) (e *eyes, err error) {
	e = &eyes{}
	if e.core, err = kubernetes.NewForConfig(cfg); err != nil {
		return nil, err
	}
	if e.metadata, err = metadata.NewForConfig(cfg); err != nil {
		return nil, err
	}
	if e.objects, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, err
	}
	e.routes, err = newRoutes(cfg)
	return e, err
}

// cutDown drops the schemas, which are nearly all of a CRD, so that many can be examined.
func cutDown(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Schema = nil
	}
	return crd
}

// unread says why something is not known, in one line.
func unread(err error, what, permission string) string {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return fmt.Sprintf("%s may not be read; it needs %s", what, permission)
	}
	return fmt.Sprintf("%s could not be read: %s", what, strings.Join(strings.Fields(err.Error()), " "))
}

const objectsPerPage = 500

// lookAtObjects reads the metadata of all objects of a CRD: what is being deleted, and where they lie.
func (e *eyes) lookAtObjects(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (dying doctor.Known[[]doctor.Terminating], in doctor.Known[map[string]int]) {
	version := readable(crd)
	if version == "" {
		dying.Not = fmt.Sprintf("the objects of %s could not be read: no version of it is served", crd.Name)
		in.Not = dying.Not
		return dying, in
	}
	in.Value = map[string]int{}
	resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural}
	err := pages(ctx, objectsPerPage, metav1.ListOptions{}, func(ctx context.Context, opts metav1.ListOptions) (string, error) {
		list, err := e.metadata.Resource(resource).List(ctx, opts)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			o := &list.Items[i]
			in.Value[o.Namespace]++
			if o.DeletionTimestamp != nil {
				name := strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
				dying.Value = append(dying.Value, doctor.Terminating{Name: name, Since: o.DeletionTimestamp.Time, Finalizers: o.Finalizers})
			}
		}
		return list.Continue, nil
	})
	if err != nil {
		dying.Not = unread(err, "the objects of "+crd.Name, fmt.Sprintf("list on %s in %s", resource.Resource, resource.Group))
		in.Not = dying.Not
	}
	return dying, in
}

// namespaces adds those that there are to those that were seen before.
func (e *eyes) namespaces(ctx context.Context, seen doctor.Known[[]string]) doctor.Known[[]string] {
	if seen.Not != "" {
		return seen
	}
	err := pages(ctx, objectsPerPage, metav1.ListOptions{}, func(ctx context.Context, opts metav1.ListOptions) (string, error) {
		list, err := e.metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).List(ctx, opts)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			seen.Value = append(seen.Value, list.Items[i].Name)
		}
		return list.Continue, nil
	})
	if err != nil {
		seen.Not = unread(err, "Namespaces", "list on namespaces")
	}
	return seen
}

// readable is a version to read objects at: the storage version if it is served.
func readable(crd *apiextensionsv1.CustomResourceDefinition) (version string) {
	for _, v := range crd.Spec.Versions {
		if v.Served && (version == "" || v.Storage) {
			version = v.Name
		}
	}
	return version
}

// pages calls list until there is nothing to continue with.
func pages(ctx context.Context, size int64, opts metav1.ListOptions, list func(context.Context, metav1.ListOptions) (string, error)) error {
	for opts.Limit = size; ; {
		next, err := func() (string, error) {
			ctx, cancel := context.WithTimeout(ctx, cli.AnswerTime)
			defer cancel()
			return list(ctx, opts)
		}()
		if err != nil || next == "" {
			return err
		}
		opts.Continue = next
	}
}

// gates are the VersionRemovals of the named CRDs, or all. Without their CRD there are none.
func (e *eyes) gates(ctx context.Context, names []string) (known doctor.Known[[]v1alpha1.VersionRemoval]) {
	resource := v1alpha1.GroupVersion.WithResource("versionremovals")
	if _, served := e.served(resource.Group); !served {
		return known
	}
	err := e.list(ctx, resource, func(content map[string]any) error {
		removal := v1alpha1.VersionRemoval{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &removal); err != nil {
			return err
		}
		if len(names) == 0 || slices.Contains(names, removal.Spec.CRDName) {
			known.Value = append(known.Value, removal)
		}
		return nil
	})
	if err != nil {
		known.Not = unread(err, "VersionRemovals", "list on versionremovals in "+resource.Group)
	}
	return known
}

// migrations are the objects of other migrators, as far as their APIs are there.
func (e *eyes) migrations(ctx context.Context) (all []doctor.Known[[]doctor.Migration]) {
	for _, group := range []string{doctor.InTree, doctor.KSVM} {
		version, served := e.served(group)
		if !served {
			continue
		}
		known := doctor.Known[[]doctor.Migration]{}
		err := e.list(ctx, schema.GroupVersionResource{Group: group, Version: version, Resource: "storageversionmigrations"}, func(content map[string]any) error {
			known.Value = append(known.Value, migrationOf(group, content))
			return nil
		})
		if err != nil && !apierrors.IsNotFound(err) {
			known.Not = unread(err, "StorageVersionMigrations of "+group, "list on storageversionmigrations in "+group)
		}
		all = append(all, known)
	}
	return all
}

// migrationOf reads what the objects of both migrators have in common.
func migrationOf(group string, content map[string]any) doctor.Migration {
	object := unstructured.Unstructured{Object: content}
	resource, _, _ := unstructured.NestedStringMap(content, "spec", "resource")
	m := doctor.Migration{API: group, Name: object.GetName(), Resource: schema.GroupResource{Group: resource["group"], Resource: resource["resource"]}}
	conditions, _, _ := unstructured.NestedSlice(content, "status", "conditions")
	for _, item := range conditions {
		c, _ := item.(map[string]any)
		m.Ended = m.Ended || (c["type"] == "Succeeded" || c["type"] == "Failed") && c["status"] == "True"
	}
	return m
}

// served tells whether an API group is there, and the version that its server prefers. Everybody may ask that.
func (e *eyes) served(group string) (version string, served bool) {
	groups, err := e.core.Discovery().ServerGroups()
	if err != nil {
		return "", false
	}
	for _, g := range groups.Groups {
		if g.Name == group {
			return g.PreferredVersion.Version, true
		}
	}
	return "", false
}

func (e *eyes) list(ctx context.Context, resource schema.GroupVersionResource, each func(map[string]any) error) error {
	return pages(ctx, objectsPerPage, metav1.ListOptions{}, func(ctx context.Context, opts metav1.ListOptions) (string, error) {
		list, err := e.objects.Resource(resource).List(ctx, opts)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			if err := each(list.Items[i].Object); err != nil {
				return "", err
			}
		}
		return list.GetContinue(), nil
	})
}

// argoCD is what `moult check argocd` judges.
func (e *eyes) argoCD(ctx context.Context, namespace string) (known doctor.Known[[]doctor.ArgoCDKey]) {
	ctx, cancel := context.WithTimeout(ctx, cli.AnswerTime)
	defer cancel()
	found, err := e.core.CoreV1().ConfigMaps(namespace).Get(ctx, lua.ConfigMap, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		known.Not = fmt.Sprintf("there is no ConfigMap %s in namespace %s; if Argo CD is in another, name it with --argocd-namespace", lua.ConfigMap, namespace)
	case err != nil:
		known.Not = unread(err, "ConfigMap "+lua.ConfigMap, "get on configmaps in namespace "+namespace)
	default:
		for _, f := range lua.Compare(found.Data) {
			known.Value = append(known.Value, doctor.ArgoCDKey{Key: f.Key, Good: f.Good(), State: string(f.State), Meaning: f.Meaning, Mend: f.Mend})
		}
	}
	return known
}

const (
	helmSecret = "helm.sh/release.v1"
	// secretsPerPage bounds memory: each may be 1 MiB.
	secretsPerPage = 20
)

// releases reads what Helm has stored, in the namespaces or in all. A Secret that is no release after all is named in
// notSeen, and so is a namespace that cannot be read beside others that can.
func (e *eyes) releases(ctx context.Context, namespaces []string) (known doctor.Known[[]doctor.Release], notSeen []string) {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	var unseen []string
	for _, namespace := range namespaces {
		opts := metav1.ListOptions{FieldSelector: "type=" + helmSecret}
		err := pages(ctx, secretsPerPage, opts, func(asking context.Context, opts metav1.ListOptions) (string, error) {
			list, err := e.core.CoreV1().Secrets(namespace).List(asking, opts)
			if err != nil {
				return "", err
			}
			for i := range list.Items {
				release, err := releaseIn(ctx, &list.Items[i])
				if ctx.Err() != nil {
					return "", ctx.Err()
				}
				if err != nil {
					notSeen = append(notSeen, err.Error())
					continue
				}
				known.Value = append(known.Value, release)
			}
			return list.Continue, nil
		})
		if err != nil {
			unseen = append(unseen, unread(err, "the Secrets of Helm's releases", "list on secrets"+in(namespace)+"; --helm-namespace asks for less"))
		}
	}
	if len(unseen) == len(namespaces) {
		return doctor.Known[[]doctor.Release]{Not: strings.Join(unseen, "; ")}, nil
	}
	return known, append(notSeen, unseen...)
}

func releaseIn(ctx context.Context, secret *corev1.Secret) (doctor.Release, error) {
	release, err := doctor.Decode(ctx, secret.Data["release"])
	if errors.Is(err, doctor.ErrTooMuch) {
		return doctor.Release{}, fmt.Errorf("the release in Secret %s/%s was not looked at: %w", secret.Namespace, secret.Name, err)
	}
	if err != nil {
		return doctor.Release{}, fmt.Errorf("the release in Secret %s/%s cannot be read: %w", secret.Namespace, secret.Name, err)
	}
	release.Namespace = secret.Namespace
	return release, nil
}

func in(namespace string) string {
	if namespace == metav1.NamespaceAll {
		return " in all namespaces"
	}
	return " in namespace " + namespace
}
