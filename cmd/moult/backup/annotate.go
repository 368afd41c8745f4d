package backup

import (
	"context"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/archive"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// annotateAll says on each CRD that it is in the backup, which was read back.
func (b *command) annotateAll(ctx context.Context, cfg *rest.Config, written *archive.Backup) error {
	client, err := apiextensions.NewForConfig(cfg)
	if err != nil {
		return err
	}
	var errs []error
	for _, of := range written.CRDs {
		err := annotate(ctx, client.CustomResourceDefinitions(), of.Name, crds.Backup{
			Time: written.Time, Digest: written.Digest, Objects: of.Objects,
			Missing: int64(len(of.Missing)), UID: of.UID, Generation: of.Generation, StorageVersion: of.StorageVersion,
		})
		if err == nil {
			fmt.Fprintf(b.ErrOut, "%s is annotated with %s\n", of.Name, v1alpha1.BackupAnnotation)
		}
		if err != nil {
			err = cli.Ended{Code: cli.ExitNotDone, Err: err}
		}
		errs = append(errs, err)
	}
	return b.TellAll(errs)
}

// annotate writes the annotation if the CRD is the one that was backed up, and its spec has not changed since reading began. The write
// names the UID and the resourceVersion that were looked at, so that nothing can happen in between.
func annotate(ctx context.Context, client apiextensions.CustomResourceDefinitionInterface, name string, record crds.Backup) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return notAnnotated(name, err)
		}
		if why := changed(crd, record); why != "" {
			return fmt.Errorf("%s was not annotated: %s; back up again", name, why)
		}
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": crd.UID, "resourceVersion": crd.ResourceVersion,
			"annotations": map[string]string{v1alpha1.BackupAnnotation: record.Annotation()},
		}})
		if err != nil {
			return err
		}
		_, err = client.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: v1alpha1.BackupFieldManager})
		return notAnnotated(name, err)
	})
}

// changed says what has happened to a CRD since it was read for the backup; empty if nothing has.
func changed(crd *apiextensionsv1.CustomResourceDefinition, record crds.Backup) string {
	switch storage := crds.StorageVersion(crd); {
	case crd.UID != record.UID:
		return "it was deleted and recreated while it was backed up"
	case storage != record.StorageVersion:
		return fmt.Sprintf("its storage version became %s while it was backed up", storage)
	case crd.Generation != record.Generation:
		return fmt.Sprintf("its spec changed while it was backed up (generation %d, now %d)", record.Generation, crd.Generation)
	}
	return ""
}

func notAnnotated(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s was not annotated: %w; --annotate needs get and patch on customresourcedefinitions in apiextensions.k8s.io", name, err)
	}
	return fmt.Errorf("%s was not annotated: %w", name, err)
}
