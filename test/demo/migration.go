package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// lookEvery is how often the condition is looked at.
const lookEvery = 100 * time.Millisecond

// The reasons the condition goes through, each with those that may follow it.
var (
	proved    = []string{v1alpha1.ReasonMigrated}
	passed    = append([]string{v1alpha1.ReasonVerifying}, proved...)
	settled   = append([]string{v1alpha1.ReasonMigrating}, passed...)
	anyReason = append([]string{v1alpha1.ReasonSettling}, settled...)
)

func (s *story) settling(ctx context.Context) error {
	start := time.Now()
	err := s.await(ctx, settled, func() error {
		left := max(0, time.Until(s.seenAt.Add(s.settle)))
		s.now("settle   %s %.0f s left, for an API server that lags", bar(int(s.settle-left), int(s.settle)), math.Ceil(left.Seconds()))
		return nil
	})
	if err != nil {
		return err
	}
	s.done(time.Since(start), "settle   waited %s: every API server has the new schemas, and none writes %s", s.settle, oldest)
	return nil
}

func (s *story) pass(ctx context.Context) error {
	start, quarter := time.Now(), 1
	err := s.await(ctx, passed, func() error {
		counts, err := s.stored(ctx)
		if err != nil {
			return err
		}
		s.now("pass     %s %d of %d objects rewritten", bar(counts[newest], s.objects), counts[newest], s.objects)
		if reached := 4 * counts[newest] / s.objects; !s.live && reached >= quarter {
			s.say("  · pass     %s %d of %d objects rewritten", bar(counts[newest], s.objects), counts[newest], s.objects)
			quarter = reached + 1
		}
		return nil
	})
	if err != nil {
		return err
	}
	took := time.Since(start)
	writes, err := s.cp.Etcd().Writes(ctx, resource)
	if err != nil {
		return err
	}
	s.done(took, "pass     every object is rewritten at %s, with %d writes in all", newest, writes)
	return nil
}

func (s *story) proof(ctx context.Context) error {
	start := time.Now()
	before, err := s.cp.Etcd().Writes(ctx, resource)
	if err != nil {
		return err
	}
	if err := s.await(ctx, proved, func() error { s.now("proof    checking every object again"); return nil }); err != nil {
		return err
	}
	after, err := s.cp.Etcd().Writes(ctx, resource)
	if err != nil {
		return err
	}
	s.done(time.Since(start), "proof    checked every object again and found %d left to rewrite", after-before)
	return nil
}

func (s *story) trim(ctx context.Context) error {
	crd, err := s.crd(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(crd.Status.StoredVersions, []string{newest}) {
		return fmt.Errorf("storedVersions is %v although the CRD says that it is migrated", crd.Status.StoredVersions)
	}
	s.done(0, "trim     took %s out of storedVersions", oldest)
	_, err = s.showStored(ctx, "nothing is left behind")
	return err
}

// await waits until the condition has one of the reasons, and calls draw while it has not. Any reason that is none of
// the usual ones is an error.
func (s *story) await(ctx context.Context, reasons []string, draw func() error) error {
	patience := s.patience()
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the condition is still none of %v after %s", reasons, patience))
	defer cancel()
	pause := lookEvery
	for {
		began := time.Now()
		crd, err := s.crd(ctx)
		if err != nil {
			return err
		}
		switch c := condition(crd); {
		case slices.Contains(reasons, c.Reason):
			return nil
		case c.Reason != "" && !slices.Contains(anyReason, c.Reason):
			return fmt.Errorf("moult-controller says %s: %s", c.Reason, c.Message)
		case draw != nil:
			if err := draw(); err != nil {
				return err
			}
			pause = max(pause, 3*time.Since(began)) // counting many objects must not slow down their migration
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// patience is more than anything Moult does should take.
func (s *story) patience() time.Duration {
	return 2*time.Minute + s.settle + time.Duration(s.objects)*20*time.Millisecond
}

func (s *story) crd(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, error) {
	client, err := apiextensions.NewForConfig(s.cp.Config)
	if err != nil {
		return nil, err
	}
	return client.CustomResourceDefinitions().Get(ctx, crdName, metav1.GetOptions{})
}

// stored counts the objects in etcd by the version they are stored at.
func (s *story) stored(ctx context.Context) (map[string]int, error) {
	return s.cp.Etcd().CountByVersion(ctx, resource)
}

func condition(crd *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.CustomResourceDefinitionCondition {
	for _, c := range crd.Status.Conditions {
		if c.Type == v1alpha1.StorageMigrated {
			return c
		}
	}
	return apiextensionsv1.CustomResourceDefinitionCondition{}
}
