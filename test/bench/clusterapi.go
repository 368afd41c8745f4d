package main

import (
	"context"
	"strconv"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/crdmigrator"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// clusterAPI is Cluster API's CRD migrator, which other operators copy, in a manager with nothing else in it and, unlike
// Cluster API's own, without a limit on its requests. It passes over a CRD whose annotation says that its generation
// has been dealt with, and begins when the annotation goes.
var clusterAPI = contender{
	name:       "cluster-api",
	roundTrips: 1,
	trims:      true,
	hold: func(crd *apiextensionsv1.CustomResourceDefinition) { // the flip raises the generation by 1
		metav1.SetMetaDataAnnotation(&crd.ObjectMeta, clusterv1.CRDMigrationObservedGenerationAnnotation, strconv.FormatInt(crd.Generation+1, 10))
	},
	release: func(crd *apiextensionsv1.CustomResourceDefinition) {
		delete(crd.Annotations, clusterv1.CRDMigrationObservedGenerationAnnotation)
	},
	start: func(ctx context.Context, e *entry) (*process, error) { return child(ctx, e, "cluster-api") },
}

func runClusterAPI(ctx context.Context, t task, await func() error) error {
	ctrl.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(t.config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(t.resource.GroupVersion().WithKind(t.kind))
	migrator := &crdmigrator.CRDMigrator{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(),
		Config: map[client.Object]crdmigrator.ByObjectConfig{object: {}},
	}
	if err := migrator.SetupWithManager(ctx, mgr, controller.Options{}); err != nil {
		return err
	}
	go func() {
		if mgr.GetCache().WaitForCacheSync(ctx) {
			_ = await() // the CRD tells it to begin; this tells the benchmark that it can
		}
	}()
	return mgr.Start(ctx)
}
