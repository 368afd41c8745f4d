package builders

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

// FieldManager writes all that this package writes, at whatever the test's program is called.
const FieldManager = "moult-test-builders"

// patience bounds how long the API server may take to serve a new CRD, or to be busy with others' writes to one.
const patience = 2 * time.Minute

// Install creates the CRD and waits until the API server that config reaches lists each of its served versions.
// Another server on the same etcd may take a moment longer.
func Install(ctx context.Context, config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition) error {
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := client.CustomResourceDefinitions().Create(ctx, crd, metav1.CreateOptions{FieldManager: FieldManager}); err != nil {
		return fmt.Errorf("create CRD %s: %w", crd.Name, err)
	}
	return WaitServed(ctx, config, crd)
}

// WaitServed waits until the API server that config reaches has established the CRD and lists each of its served
// versions. Listing needs no conversion as long as there are no objects.
func WaitServed(ctx context.Context, config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}

	last := error(nil)
	err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		live, err := client.CustomResourceDefinitions().Get(ctx, crd.Name, metav1.GetOptions{})
		if err != nil || !apihelpers.IsCRDConditionTrue(live, apiextensionsv1.Established) {
			last = err
			return false, nil
		}
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			if _, last = objects.Resource(Resource(crd, version.Name)).List(ctx, metav1.ListOptions{Limit: 1}); last != nil {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("CRD %s is not served by %s: %w, last answer: %w", crd.Name, config.Host, err, last)
	}
	return nil
}

// FlipStorage makes version the storage version. When it returns, the API server has accepted the change, but writes
// may still be stored at the old version for a moment: that gap is what Moult's settle time is for.
func FlipStorage(ctx context.Context, config *rest.Config, name, version string) error {
	return Update(ctx, config, name, func(crd *apiextensionsv1.CustomResourceDefinition) { setStorage(crd, version) })
}

// RemoveVersion drops a version from the CRD and returns what the API server says to that, unwrapped.
func RemoveVersion(ctx context.Context, config *rest.Config, name, version string) error {
	return Update(ctx, config, name, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == version
		})
	})
}

// Update changes the live CRD and writes it, anew after a conflict. Its error is the API server's.
func Update(ctx context.Context, config *rest.Config, name string, change func(*apiextensionsv1.CustomResourceDefinition)) error {
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return err
	}
	const pause = 50 * time.Millisecond
	often := wait.Backoff{Duration: pause, Jitter: 0.5, Steps: int(patience / pause)}
	return retry.RetryOnConflict(often, func() error {
		crd, err := client.CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(crd)
		_, err = client.CustomResourceDefinitions().Update(ctx, crd, metav1.UpdateOptions{FieldManager: FieldManager})
		return err
	})
}
