package rewrite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func walkOver(s *shelf, change func(*Walk)) (*Walk, Result, error) {
	w := &Walk{Objects: s, Ownership: Ownership{Group: "example.com", StorageVersion: "v1", Versions: []string{"v1"}}, PageSize: 7, Workers: 4}
	if change != nil {
		change(w)
	}
	result, err := w.Run(context.Background())
	return w, result, err
}

func checking(w *Walk) { w.Mode = Check }

func TestEveryObjectHasOneOutcome(t *testing.T) {
	only := func(name string, err error) func(string, int) error {
		return func(n string, _ int) error {
			if n == name {
				return err
			}
			return nil
		}
	}
	first := func(err error) func(string, int) error {
		return func(n string, try int) error {
			if n == "o00003" && try == 0 {
				return err
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		fail      func(string, int) error
		meanwhile func(*shelf, string, int)
		stamps    func(string) bool
		change    func(*Walk)
		want      map[Outcome]int64
		failure   string
	}{
		"all stale": {want: map[Outcome]int64{Rewritten: 20}},
		"one deleted since it was listed": {
			meanwhile: func(s *shelf, _ string, _ int) { delete(s.objects, "o00003") },
			want:      map[Outcome]int64{Rewritten: 19, Gone: 1}},
		"one refused by admission": {
			fail:    only("o00003", status(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "w" denied the request: no`)),
			want:    map[Outcome]int64{Rewritten: 19, Failed: 1},
			failure: `ns/o00003: AdmissionDenied: admission webhook "w" denied the request: no`},
		"one refused by admission in words that sound like RBAC": {
			fail:    only("o00003", status(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "w" denied the request: User "u" cannot patch resource "size"`)),
			want:    map[Outcome]int64{Rewritten: 19, Failed: 1},
			failure: `ns/o00003: AdmissionDenied: admission webhook "w" denied the request: User "u" cannot patch resource "size"`},
		"one refused by admission as if it were gone": {
			fail:    only("o00003", status(http.StatusNotFound, metav1.StatusReasonNotFound, `admission webhook "w" denied the request: no such size`)),
			want:    map[Outcome]int64{Rewritten: 19, Failed: 1},
			failure: `ns/o00003: AdmissionDenied: admission webhook "w" denied the request: no such size`},
		"one refused by admission as if the server were busy": {
			fail:    only("o00003", status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, `admission webhook "w" denied the request: later`)),
			want:    map[Outcome]int64{Rewritten: 19, Failed: 1},
			failure: `ns/o00003: AdmissionDenied: admission webhook "w" denied the request: later`},
		"one refused by a validating policy": {
			fail:    only("o00003", status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, `ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`)),
			want:    map[Outcome]int64{Rewritten: 19, Failed: 1},
			failure: `ns/o00003: AdmissionDenied: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`},
		"one invalid": {
			fail:    only("o00003", status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.size: wrong")),
			want:    map[Outcome]int64{Rewritten: 19, Failed: 1},
			failure: "ns/o00003: Invalid: spec.size: wrong"},
		"one that the conversion webhook refuses": {
			fail:    only("o00003", internal("conversion webhook for example.com/v1alpha1, Kind=Widget failed: no such size")),
			want:    map[Outcome]int64{Rewritten: 19, Failed: 1},
			failure: "ns/o00003: ConversionFailed: conversion webhook for example.com/v1alpha1, Kind=Widget failed: no such size"},
		"one with an error that stays": {
			fail:    only("o00003", internal("boom")),
			want:    map[Outcome]int64{Rewritten: 19, Failed: 1},
			failure: "ns/o00003: InternalError: boom"},
		"one with an error that passes":   {fail: first(internal("boom")), want: map[Outcome]int64{Rewritten: 20}},
		"one that meets a busy server":    {fail: first(apierrors.NewTooManyRequests("later", 0)), want: map[Outcome]int64{Rewritten: 20}},
		"one that meets a broken network": {fail: first(syscall.ECONNRESET), want: map[Outcome]int64{Rewritten: 20}},
		"one that loses a race":           {fail: first(apierrors.NewConflict(widgetResource, "o00003", errors.New("x"))), want: map[Outcome]int64{Rewritten: 20}},
		"a check that finds one written by another client since the list": {
			change: checking,
			meanwhile: func(s *shelf, name string, try int) {
				if name == "o00003" && try == 0 {
					s.touch(name)
				}
			},
			want: map[Outcome]int64{Rewritten: 19, Overtaken: 1}},
		"a check that is overtaken without end": {
			change: checking,
			meanwhile: func(s *shelf, name string, _ int) {
				if name == "o00003" {
					s.touch(name)
				}
			},
			want: map[Outcome]int64{Rewritten: 19, Overtaken: 1}},
		"a check of one that a webhook changes at every write, out of sight": {
			change: checking,
			meanwhile: func(s *shelf, name string, _ int) {
				if name == "o00003" {
					s.objects[name].stale = true
				}
			},
			want: map[Outcome]int64{Rewritten: 19, Altered: 1}},
		"a check of one that a webhook changes at every write": {
			change: checking,
			stamps: func(name string) bool { return name == "o00003" },
			want:   map[Outcome]int64{Rewritten: 19, Altered: 1}},
		"a first walk over one that a webhook changes at every write": {
			stamps: func(name string) bool { return name == "o00003" },
			want:   map[Outcome]int64{Rewritten: 20}},
		"a check that finds a stale one behind another client's write": {
			change: checking,
			meanwhile: func(s *shelf, name string, try int) {
				if name == "o00003" && try == 0 {
					s.touch(name)
					s.objects[name].stale = true
				}
			},
			want: map[Outcome]int64{Rewritten: 20}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := newShelf(20)
			s.fail, s.meanwhile, s.stamps = c.fail, c.meanwhile, c.stamps
			_, result, err := walkOver(s, c.change)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By).To(Equal(c.want))
			g.Expect(result.Total).To(BeEquivalentTo(20))
			g.Expect(result.Done()).To(BeEquivalentTo(20))
			if c.failure != "" {
				g.Expect(result.FailedObjects).To(HaveLen(1))
				g.Expect(result.FailedObjects[0].String()).To(Equal(c.failure))
			} else {
				g.Expect(s.stale()).To(BeZero())
			}
		})
	}
}

func TestASecondWalkFindsNothingToWrite(t *testing.T) {
	g := NewWithT(t)
	s := newShelf(50)
	_, _, err := walkOver(s, nil)
	g.Expect(err).NotTo(HaveOccurred())
	rv := s.rv
	_, result, err := walkOver(s, checking)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Current: 50}))
	g.Expect(s.rv).To(Equal(rv))
}

func TestACheckAsksNothingAboutObjectsWrittenAfterTheWindow(t *testing.T) {
	g := NewWithT(t)
	s := newShelf(10)
	_, result, err := walkOver(s, func(w *Walk) { w.Mode, w.ProvedAfter = Check, "6" })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: 6, Current: 4}))
	g.Expect(s.tries).To(HaveLen(6))
}

func TestWhatStopsAWalk(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		cause Cause
	}{
		"a missing permission": {
			status(http.StatusForbidden, metav1.StatusReasonForbidden, `widgets.example.com "x" is forbidden: User "u" cannot patch resource "widgets" in API group "example.com" in the namespace "ns"`), Forbidden},
		"credentials that are not accepted": {status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized"), Forbidden},
		"a version that is not served":      {status(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource"), Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newShelf(100)
			s.fail = func(string, int) error { return c.err }
			_, result, err := walkOver(s, nil)
			stopped := (*Stopped)(nil)
			g.Expect(errors.As(err, &stopped)).To(BeTrue(), "%v", err)
			g.Expect(stopped.Cause).To(Equal(c.cause))
			g.Expect(errors.Is(err, c.err)).To(BeTrue())
			g.Expect(len(s.bodies)).To(BeNumerically("<=", 8), "nothing is tried a thousand times over")
			g.Expect(result.By[Failed]).To(BeZero())
		})
	}
}

func TestAServerThatStaysAwayStopsTheWalkAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		s := newShelf(1)
		s.fail = func(string, int) error { return syscall.ECONNREFUSED }
		began := time.Now()
		_, _, err := walkOver(s, nil)
		g.Expect(err).To(MatchError(ContainSubstring("no success for")))
		g.Expect(err).To(MatchError(syscall.ECONNREFUSED))
		g.Expect(time.Since(began)).To(BeNumerically("~", maxBackoff, 15*time.Second))
	})
}

func TestFailuresAreAllCountedAndTheFirstTwentyNamedInOrder(t *testing.T) {
	g := NewWithT(t)
	s := newShelf(200)
	s.fail = func(string, int) error {
		return status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "no")
	}
	_, result, err := walkOver(s, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By[Failed]).To(BeEquivalentTo(200))
	g.Expect(result.FailedBy).To(Equal(map[string]int64{"Invalid": 200}))
	names := make([]string, len(result.FailedObjects))
	for i, f := range result.FailedObjects {
		names[i] = f.Name
	}
	want := make([]string, MaxFailedObjects)
	for i := range want {
		want[i] = fmt.Sprintf("o%05d", i)
	}
	g.Expect(names).To(Equal(want))
}

func TestACancelledWalkEndsWithTheContextsError(t *testing.T) {
	g := NewWithT(t)
	s := newShelf(1000)
	ctx, cancel := context.WithCancel(context.Background())
	s.meanwhile = func(s *shelf, _ string, _ int) {
		if len(s.bodies) == 100 {
			cancel()
		}
	}
	w := &Walk{Objects: s, PageSize: 10, Workers: 2}
	result, err := w.Run(ctx)
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(result.Done()).To(BeNumerically("<", 150))
	g.Expect(result.By[Failed]).To(BeZero())
}
