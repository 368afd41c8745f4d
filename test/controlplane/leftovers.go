package controlplane

import (
	"context"
	"fmt"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/test/builders"
)

// leftBehind names the CRDs of this process's tests that are still there some time after the last test, or whose objects
// are. Other packages see them, and an API server that cannot delete the objects tries again and again.
func leftBehind(cp *ControlPlane) error {
	const patience = time.Minute
	crds := apiextensions.NewForConfigOrDie(cp.Config).CustomResourceDefinitions()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		list, err := crds.List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("what the tests left behind: %w", err)
		}
		var left []string
		for _, crd := range list.Items {
			if !builders.OfThisProcess(crd.Spec.Group) {
				continue
			}
			objects, err := cp.etcd.count(context.Background(), schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural})
			if err != nil {
				return fmt.Errorf("what the tests left behind: %w", err)
			}
			if crd.DeletionTimestamp == nil || objects > 0 { // without objects it goes, at the API server's leisure
				left = append(left, crd.Name)
			}
		}
		switch {
		case len(left) == 0:
			return nil
		case time.Since(began) > patience:
			return fmt.Errorf("the tests left CRDs behind on a control plane that is shared; running.Install removes them: %v", left)
		}
	}
}
