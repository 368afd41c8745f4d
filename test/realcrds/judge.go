package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/crd"
)

// judge is a real API server, which is given the CRDs of one release and then those of the next.
type judge struct {
	crds apiextensions.CustomResourceDefinitionInterface
}

func newJudge(config *rest.Config) (judge, error) {
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return judge{}, err
	}
	return judge{client.CustomResourceDefinitions()}, nil
}

// ruling is what the API server says of one CRD of the later release. An error is its refusal, nil that it accepts.
type ruling struct {
	name string
	// before is about the CRD of the earlier release. If it is refused, there is no more to ask.
	before error
	// fresh is about a cluster that was installed at the earlier release, or is new to the CRD.
	fresh error
	// aged is about a cluster that has gone through all releases and has never been migrated.
	aged error
}

// refused is what the API server says in one of the two, nil if it accepts in both.
func (r ruling) refused() error {
	if r.fresh != nil {
		return r.fresh
	}
	return r.aged
}

// rule asks about all CRDs of the later release.
func (j judge) rule(ctx context.Context, base, head []*apiextensionsv1.CustomResourceDefinition) ([]ruling, error) {
	if err := j.clear(ctx); err != nil {
		return nil, err
	}
	refused := map[string]error{}
	for _, was := range base {
		var err error
		if refused[was.Name], err = j.apply(ctx, was, metav1.PatchOptions{}); err != nil {
			return nil, err
		}
	}
	var rulings []ruling
	for _, is := range head {
		r := ruling{name: is.Name, before: refused[is.Name]}
		i := slices.IndexFunc(base, func(was *apiextensionsv1.CustomResourceDefinition) bool { return was.Name == is.Name })
		var err error
		switch {
		case r.before != nil:
		case i < 0:
			r.fresh, err = j.apply(ctx, is, metav1.PatchOptions{})
		default:
			err = j.update(ctx, base[i], is, &r)
		}
		if err != nil {
			return nil, err
		}
		rulings = append(rulings, r)
	}
	return rulings, nil
}

// update asks for the CRD in place of the one before, first without consequences in the cluster as it is, and then with
// storedVersions as they are in a cluster that was never migrated.
func (j judge) update(ctx context.Context, was, is *apiextensionsv1.CustomResourceDefinition, r *ruling) (err error) {
	if err := j.established(ctx, was.Name); err != nil {
		return err
	}
	if r.fresh, err = j.apply(ctx, is, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		return err
	}
	status, err := json.Marshal(map[string]any{"status": map[string]any{"storedVersions": everStored(was)}})
	if err != nil {
		return err
	}
	if _, err := j.crds.Patch(ctx, was.Name, types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		return err
	}
	r.aged, err = j.apply(ctx, is, metav1.PatchOptions{})
	return err
}

// everStored are the versions that have been the storage version of a CRD, one after the other: the one that is, and in
// Kubernetes' order of versions all that come before it. A version after it is one to which the project has yet to move.
func everStored(of *apiextensionsv1.CustomResourceDefinition) []string {
	storage := crd.StorageVersion(of)
	stored := slices.DeleteFunc(crd.Versions(of), func(name string) bool {
		return version.CompareKubeAwareVersionStrings(name, storage) > 0
	})
	slices.SortFunc(stored, version.CompareKubeAwareVersionStrings)
	return stored
}

// apply is a server-side apply, which is what Flux does.
func (j judge) apply(ctx context.Context, of *apiextensionsv1.CustomResourceDefinition, o metav1.PatchOptions) (refused, failed error) {
	body, err := manifest(of)
	if err != nil {
		return nil, err
	}
	o.FieldManager, o.Force = "realcrds", new(true)
	_, err = j.crds.Patch(ctx, of.Name, types.ApplyPatchType, body, o)
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) {
		return err, nil
	}
	return nil, err
}

// manifest is a CRD as a release has it: what only an API server writes is left out, and so are labels, annotations and
// addresses that are templates, which the project fills in when it makes the release.
func manifest(of *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	spec := of.Spec.DeepCopy()
	if conversion := spec.Conversion; conversion != nil && conversion.Webhook != nil {
		client := conversion.Webhook.ClientConfig
		if client != nil && client.Service != nil && client.URL != nil && isTemplate(*client.URL) {
			client.URL = nil
		}
		if client != nil && len(bytes.TrimSpace(client.CABundle)) == 0 {
			client.CABundle = nil // a newline keeps the place of what is filled in, and the API server does not serve the CRD with it
		}
	}
	metadata := map[string]any{"name": of.Name}
	for field, values := range map[string]map[string]string{"labels": of.Labels, "annotations": of.Annotations} {
		filled := maps.Clone(values)
		maps.DeleteFunc(filled, func(_, value string) bool { return isTemplate(value) })
		metadata[field] = filled
	}
	return json.Marshal(map[string]any{
		"apiVersion": apiextensionsv1.SchemeGroupVersion.String(), "kind": "CustomResourceDefinition", "metadata": metadata, "spec": spec,
	})
}

func isTemplate(text string) bool { return strings.Contains(text, "{{") }

// How long the API server is waited for.
const (
	patience  = time.Minute
	lookEvery = 50 * time.Millisecond
)

// established waits until the API server serves a CRD: some of its rules are stricter then.
func (j judge) established(ctx context.Context, name string) error {
	var said []apiextensionsv1.CustomResourceDefinitionCondition
	err := wait.PollUntilContextTimeout(ctx, lookEvery, patience, true, func(ctx context.Context) (bool, error) {
		live, err := j.crds.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		said = live.Status.Conditions
		return apihelpers.IsCRDConditionTrue(live, apiextensionsv1.Established), nil
	})
	if err != nil {
		return fmt.Errorf("the API server does not serve %s: %w: %v", name, err, said)
	}
	return nil
}

// clear deletes all CRDs.
func (j judge) clear(ctx context.Context) error {
	if err := j.crds.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, lookEvery, patience, true, func(ctx context.Context) (bool, error) {
		left, err := j.crds.List(ctx, metav1.ListOptions{})
		return err == nil && len(left.Items) == 0, err
	})
}
