package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
)

const (
	group, plural    = "example.com", "widgets"
	oldest, newest   = "v1alpha1", "v1"
	crdName          = plural + "." + group
	labelInTheCommit = v1alpha1.MigrateLabel + `: "` + v1alpha1.MigrateLabelValue + `"`
)

var resource = schema.GroupResource{Group: group, Resource: plural}

// story is what the steps share.
type story struct {
	*teller
	*cast
	options
	objectsBefore census
	stalesBefore  int
	seenAt        time.Time // when the controller was first seen at work
}

// run tells the story from beginning to end and stops what it started.
func run(ctx context.Context, t *teller, o options) (err error) {
	person := ctx
	ctx, cancel := context.WithCancelCause(person)
	defer cancel(nil)
	began := time.Now()
	t.title(fmt.Sprintf("Moult: drop %s from a CRD that has %d objects, and lose nothing", oldest, o.objects))
	t.say("etcd keeps every object at the version it was last written at, however long ago. As long as")
	t.say("one may be kept at an old version, that version cannot leave the CRD.\n")

	t.now("starting kube-apiserver and etcd")
	c, err := startControlPlane()
	if err != nil {
		return err
	}
	s := &story{teller: t, cast: c, options: o}
	defer func() {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		tail := c.lastLogLines()
		t.lastLines = func() []string { return tail }
		err = errors.Join(err, c.stop())
	}()
	if err := s.tell(ctx, began, cancel); err != nil {
		return err
	}
	t.say("\n%s   counted in etcd; the whole story took %.0f s", t.paint(bold, s.headline()), time.Since(began).Seconds())
	if o.keep {
		s.linger(ctx)
		if person.Err() == nil {
			return context.Cause(ctx)
		}
		t.say("\nStopped.")
	}
	return nil
}

func (s *story) tell(ctx context.Context, began time.Time, ended context.CancelCauseFunc) error {
	steps := []func(context.Context) error{
		func(context.Context) error { return s.introduce(time.Since(began)) },
		s.install, s.create, s.flip, s.removeTooEarly,
		func(ctx context.Context) error { return s.bringMoult(ctx, ended) },
		s.commitGate, s.shut, s.optIn, s.settling, s.pass, s.proof, s.trim, s.open, s.remove, s.readAll, s.count,
	}
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) introduce(took time.Duration) error {
	s.chapter("Without Moult")
	client, err := discovery.NewDiscoveryClientForConfig(s.cp.Config)
	if err != nil {
		return err
	}
	version, err := client.ServerVersion()
	if err != nil {
		return err
	}
	s.done(took, "started kube-apiserver %s with its etcd, on this machine only", version.GitVersion)
	return nil
}

func (s *story) install(ctx context.Context) error {
	crd := builders.CRD(group, plural).Versions(oldest).Build()
	if err := builders.Install(ctx, s.cp.Config, crd); err != nil {
		return err
	}
	s.done(0, "installed the CRD %s with one version, %s", crdName, oldest)
	return nil
}

func (s *story) create(ctx context.Context) error {
	start := time.Now()
	s.now("creating %d objects", s.objects)
	byHand := s.objects / 10
	err := errors.Join(s.createAs(ctx, "gitops", s.objects-byHand), s.createAs(ctx, "console", byHand))
	if err != nil {
		return err
	}
	if s.objectsBefore, err = takeCensus(ctx, s.cp.Config, resource.WithVersion(oldest)); err != nil {
		return err
	}
	s.done(time.Since(start), "created %d objects", s.objects)
	s.detail("managedFields", "%s", s.objectsBefore.spokenOwners())
	return nil
}

// createAs creates objects that belong to a field manager.
func (s *story) createAs(ctx context.Context, manager string, objects int) error {
	return builders.CreateObjects(ctx, s.cp.Config, resource.WithVersion(oldest), "default", objects, builders.Prefix(manager), builders.By(manager))
}

// flip is the commit of the next release: a new version, stored from now on.
func (s *story) flip(ctx context.Context) error {
	release := builders.CRD(group, plural).Versions(oldest, newest).Storage(newest).Build()
	err := builders.Update(ctx, s.cp.Config, crdName, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions = release.Spec.Versions
	})
	if err != nil {
		return err
	}
	if err := builders.WaitServed(ctx, s.cp.Config, release); err != nil {
		return err
	}
	s.done(0, "committed the next release: version %s, stored from now on", newest)
	if s.stalesBefore, err = s.showStored(ctx, "so far nothing is rewritten"); err != nil {
		return err
	}
	if s.stalesBefore != s.objects {
		return fmt.Errorf("etcd holds %d objects at %s, expected %d", s.stalesBefore, oldest, s.objects)
	}
	return nil
}

func (s *story) removeTooEarly(ctx context.Context) error {
	err := builders.RemoveVersion(ctx, s.cp.Config, crdName, oldest)
	if err == nil {
		return fmt.Errorf("the API server let %s go although objects are stored at it", oldest)
	}
	s.refused(fmt.Sprintf("removing %s now: the API server refuses", oldest), err.Error())
	return nil
}

func (s *story) bringMoult(ctx context.Context, ended context.CancelCauseFunc) error {
	s.say("")
	s.chapter("With Moult")
	if err := s.installGate(ctx); err != nil {
		return err
	}
	if err := s.startController(s.options.controller, s.settle, ended); err != nil {
		return err
	}
	s.done(0, "started moult-controller")
	return nil
}

// optIn is the commit that asks Moult to rewrite the objects.
func (s *story) optIn(ctx context.Context) error {
	err := builders.Update(ctx, s.cp.Config, crdName, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Labels = map[string]string{v1alpha1.MigrateLabel: v1alpha1.MigrateLabelValue}
	})
	if err != nil {
		return err
	}
	if err := s.await(ctx, anyReason, nil); err != nil {
		return err
	}
	s.seenAt = time.Now()
	s.done(0, "committed the label %s, so moult-controller may write to the objects", labelInTheCommit)
	answer, err := s.awaitGate(ctx, func(c metav1.Condition) bool { return c.Reason != v1alpha1.ReasonNotOptedIn })
	if err != nil {
		return err
	}
	s.detail("the gate", "%s: %s", answer.Reason, answer.Message)
	return nil
}

// remove is the commit that everything was for.
func (s *story) remove(ctx context.Context) error {
	if err := builders.RemoveVersion(ctx, s.cp.Config, crdName, oldest); err != nil {
		return fmt.Errorf("removing %s after the migration: %w", oldest, err)
	}
	s.done(0, "removing %s now: accepted", oldest)
	return nil
}

func (s *story) readAll(ctx context.Context) error {
	start := time.Now()
	s.now("reading all objects")
	left := builders.CRD(group, plural).Versions(newest).Build()
	if err := builders.WaitServed(ctx, s.cp.Config, left); err != nil {
		return err
	}
	after, err := takeCensus(ctx, s.cp.Config, resource.WithVersion(newest))
	if err != nil {
		return err
	}
	if !maps.Equal(s.objectsBefore.specs, after.specs) {
		return fmt.Errorf("of %d objects %d are left unchanged", len(s.objectsBefore.specs), s.objectsBefore.common(after))
	}
	if !maps.Equal(s.objectsBefore.ownersAt(newest), after.owners) {
		return fmt.Errorf("managedFields said that %s, and now that %s", s.objectsBefore.spokenOwners(), after.spokenOwners())
	}
	s.done(time.Since(start), "read all %d objects at %s: same names, same UIDs, same specs", len(after.specs), newest)
	s.detail("managedFields", "%s: the same owners", after.spokenOwners())
	return nil
}

// count ends the story where it is decided: in etcd.
func (s *story) count(ctx context.Context) error {
	stale, err := s.stored(ctx)
	if err != nil {
		return err
	}
	if stale[oldest] != 0 || stale[newest] != s.objects {
		return fmt.Errorf("etcd holds %v, expected all %d objects at %s", stale, s.objects, newest)
	}
	return nil
}

func (s *story) headline() string {
	return fmt.Sprintf("stored at %s: %d → 0", oldest, s.stalesBefore)
}

// linger leaves everything running until it is interrupted, or has ended by itself.
func (s *story) linger(ctx context.Context) {
	s.say("\nStill running, until Ctrl-C. In another terminal:\n")
	for _, command := range []string{
		"export KUBECONFIG=" + s.kubeconfig(),
		"go run ./cmd/moult status -o wide",
		"kubectl get versionremovals," + crdName + " | head    # if you have kubectl",
		"tail -f " + s.log(),
	} {
		s.say("  %s", command)
	}
	<-ctx.Done()
}

// showStored tells what etcd and the CRD say, and returns how many objects are stored at the oldest version.
func (s *story) showStored(ctx context.Context, remark string) (int, error) {
	counts, err := s.stored(ctx)
	if err != nil {
		return 0, err
	}
	crd, err := s.crd(ctx)
	if err != nil {
		return 0, err
	}
	s.detail("in etcd", "%d at %s, %d at %s: %s", counts[oldest], oldest, counts[newest], newest, remark)
	s.detail("storedVersions", "[%s]", strings.Join(crd.Status.StoredVersions, " "))
	return counts[oldest], nil
}
