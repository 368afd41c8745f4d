package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane/assets"
)

// gateManifest is the CRD of VersionRemovals, below the repository's root.
const gateManifest = "clusters/base/crds/moult.dev_versionremovals.yaml"

// ready is the condition of a VersionRemoval that Argo CD and Flux wait for.
const ready = "Ready"

// installGate installs the CRD of VersionRemovals, which comes with moult-controller.
func (s *story) installGate(ctx context.Context) error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join(root, gateManifest))
	if err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(manifest, crd); err != nil {
		return fmt.Errorf("%s: %w", gateManifest, err)
	}
	return builders.Install(ctx, s.cp.Config, crd)
}

// commitGate is what a commit that removes the version brings along, to be applied before the CRD.
func (s *story) commitGate(ctx context.Context) error {
	c, err := s.gateClient()
	if err != nil {
		return err
	}
	removal := s.removal()
	removal.Spec = v1alpha1.VersionRemovalSpec{CRDName: crdName, Versions: []string{oldest}}
	if err := c.Create(ctx, removal); err != nil {
		return err
	}
	s.done(0, "committed a VersionRemoval of %s: a gate, for which Argo CD and Flux wait", oldest)
	return nil
}

// shut shows the gate's first answer: nobody has asked Moult to rewrite the objects.
func (s *story) shut(ctx context.Context) error {
	answer, err := s.awaitGate(ctx, func(metav1.Condition) bool { return true })
	if err != nil {
		return err
	}
	if answer.Status == metav1.ConditionTrue {
		return fmt.Errorf("the gate is open while objects are stored at %s: %s", oldest, answer.Message)
	}
	s.refused(fmt.Sprintf("the gate says no: %s", answer.Reason), answer.Message)
	return nil
}

// open waits until the gate lets the removal through.
func (s *story) open(ctx context.Context) error {
	start := time.Now()
	s.now("gate     waiting for its answer")
	answer, err := s.awaitGate(ctx, func(c metav1.Condition) bool { return c.Status == metav1.ConditionTrue })
	if err != nil {
		return err
	}
	s.done(time.Since(start), "the gate says yes: %s", answer.Reason)
	s.quote(answer.Message)
	return nil
}

// awaitGate waits for an answer of the gate that is good enough.
func (s *story) awaitGate(ctx context.Context, enough func(metav1.Condition) bool) (metav1.Condition, error) {
	c, err := s.gateClient()
	if err != nil {
		return metav1.Condition{}, err
	}
	last := metav1.Condition{}
	ctx, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	for {
		removal := s.removal()
		if err := c.Get(ctx, client.ObjectKeyFromObject(removal), removal); err != nil {
			return last, err
		}
		found := meta.FindStatusCondition(removal.Status.Conditions, ready)
		if found != nil {
			last = *found
		}
		if found != nil && found.Status != metav1.ConditionUnknown && enough(last) {
			return last, nil
		}
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("%w: the gate says %q so far: %s", context.Cause(ctx), last.Reason, last.Message)
		case <-time.After(lookEvery):
		}
	}
}

func (s *story) removal() *v1alpha1.VersionRemoval {
	return &v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: plural + "-" + oldest}}
}

func (s *story) gateClient() (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return client.New(s.cp.Config, client.Options{Scheme: scheme})
}
