package faults_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/test/faults"
)

// ways are errors that pass, some of which no server sends.
func ways(w *world) []faults.Failure {
	gr := w.widget()
	return []faults.Failure{
		{Err: io.ErrUnexpectedEOF}, {Err: io.ErrUnexpectedEOF, Done: true},
		{Err: context.DeadlineExceeded}, {Err: context.DeadlineExceeded, Done: true},
		{Err: apierrors.NewConflict(gr, "some", fmt.Errorf("the object has been modified"))},
		{Err: apierrors.NewTooManyRequests("come back", 1)}, {Err: apierrors.NewInternalError(fmt.Errorf("etcd is away"))},
		{Err: apierrors.NewServerTimeout(gr, "patch", 1)}, {Err: apierrors.NewServiceUnavailable("no server"), Done: true},
		{Err: apierrors.NewResourceExpired("the list is too old")},
	}
}

// A walk is all that stands between an error and a proof. Whatever it meets, a check that finds nothing to rewrite and no
// object that failed is right.
func TestACheckThatFindsNothingIsRightWhateverTheWalkMeets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 30, fault{})
	seeds, clean := 8, 0
	if *fullFlag {
		seeds = 100
	}
	for i := range seeds {
		w.flip()
		w.sync()
		seed := *seedFlag + uint64(i)
		_, err := w.walk(rewrite.Rewrite, faults.Sometimes(seed, 0.3, ways(w)...)).Run(w.ctx)
		stopped := err != nil
		found, err := w.walk(rewrite.Check, faults.Sometimes(seed+1000, 0.15, ways(w)...)).Run(w.ctx)
		w.sync()
		stale := w.stored("widgets")[w.from]
		t.Logf("seed %d: the first walk was stopped: %v; the check: %v, %v; stale: %d", seed, stopped, found.By, err, stale)
		if err == nil && found.By[rewrite.Failed] == 0 && found.By[rewrite.Rewritten] == 0 {
			clean++
			w.Expect(stale).To(BeZero(), "seed %d", seed)
			w.Expect(found.Total).To(BeEquivalentTo(w.widgets))
		}
		_, err = w.walk(rewrite.Rewrite, func(faults.Call) *faults.Failure { return nil }).Run(w.ctx)
		w.Expect(err).NotTo(HaveOccurred())
		w.sync()
		w.Expect(w.stored("widgets")).To(Equal(map[string]int{w.to: w.widgets}))
	}
	w.nothingIsLost()
	w.Expect(clean).To(BeNumerically(">", 0), "some checks must get through")
}

// A check's own answer may be lost when it has found something stale. Then it must not take the write for somebody
// else's: it is no proof, although all is current by now.
func TestACheckWhoseAnswersAreLostIsNoProofIfItFoundSomethingStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10, fault{})
	w.flip()
	var first sync.Map
	found, err := w.walk(rewrite.Check, func(c faults.Call) *faults.Failure {
		if _, known := first.LoadOrStore(c.Key, true); known || c.Verb != "patch" {
			return nil
		}
		return &faults.Failure{Err: io.ErrUnexpectedEOF, Done: true}
	}).Run(w.ctx)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(found.By).To(Equal(map[rewrite.Outcome]int64{rewrite.Rewritten: 10}))
	w.sync()
	w.Expect(w.stored("widgets")).To(Equal(map[string]int{"v1": 10}))
}

// walk is a walk over the widgets whose requests fail sometimes.
func (w *world) walk(mode rewrite.Mode, fail func(faults.Call) *faults.Failure) *rewrite.Walk {
	w.t.Helper()
	cfg := rest.CopyConfig(w.cp.Config)
	http, err := rest.HTTPClientFor(cfg)
	w.Expect(err).NotTo(HaveOccurred())
	client, err := rewrite.NewClient(cfg, http)
	w.Expect(err).NotTo(HaveOccurred())
	return &rewrite.Walk{
		Objects:   &faults.Objects{Objects: client.Resource(w.widget().WithVersion(w.to)), Fail: fail},
		Ownership: rewrite.Ownership{Group: w.group, StorageVersion: w.to, Versions: []string{"v1alpha1", "v1"}},
		Mode:      mode, Workers: 4, PageSize: 7, Clock: hasty{clock.RealClock{}},
	}
}

// hasty is a clock by which every pause is over at once.
type hasty struct{ clock.RealClock }

// After is at once.
func (hasty) After(time.Duration) <-chan time.Time {
	now := make(chan time.Time, 1)
	now <- time.Now()
	return now
}

// counted are objects of which it is only counted how often they are asked for.
type counted struct{ lists, gets, patches int }

func (c *counted) List(context.Context, metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	c.lists++
	return &metav1.PartialObjectMetadataList{}, nil
}

func (c *counted) Get(context.Context, types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	c.gets++
	return &metav1.PartialObjectMetadata{}, nil
}

func (c *counted) Patch(context.Context, types.NamespacedName, types.PatchType, []byte) (*metav1.PartialObjectMetadata, error) {
	c.patches++
	return &metav1.PartialObjectMetadata{}, nil
}

func TestObjectsFailAsTheyAreTold(t *testing.T) {
	one := types.NamespacedName{Namespace: "default", Name: "one"}
	for name, c := range map[string]struct {
		failure *faults.Failure
		want    error
		done    int
	}{
		"not at all":                     {nil, nil, 1},
		"before the request":             {&faults.Failure{Err: io.EOF}, io.EOF, 0},
		"after it, with its answer lost": {&faults.Failure{Err: io.EOF, Done: true}, io.EOF, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			below, calls := &counted{}, []faults.Call{}
			objects := &faults.Objects{Objects: below, Fail: func(call faults.Call) *faults.Failure {
				calls = append(calls, call)
				return c.failure
			}}
			_, err1 := objects.List(t.Context(), metav1.ListOptions{Continue: "token"})
			_, err2 := objects.Get(t.Context(), one)
			_, err3 := objects.Patch(t.Context(), one, types.MergePatchType, []byte("{}"))
			for _, err := range []error{err1, err2, err3} {
				if c.want == nil {
					g.Expect(err).NotTo(HaveOccurred())
				} else {
					g.Expect(err).To(MatchError(c.want))
				}
			}
			g.Expect(*below).To(Equal(counted{lists: c.done, gets: c.done, patches: c.done}))
			g.Expect(calls).To(Equal([]faults.Call{{Verb: "list", Continue: "token"}, {Verb: "get", Key: one}, {Verb: "patch", Key: one}}))
		})
	}
}
