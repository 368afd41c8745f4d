package rewrite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An object that fares as no other does is named, and keeps no other waiting.

func TestOnlyAReadShowsThatAnObjectNoLongerExists(t *testing.T) {
	noNamespace := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns")
	for name, c := range map[string]struct {
		says    error
		deleted bool
		want    map[Outcome]int64
		failure string
	}{
		"its namespace is gone": {says: noNamespace, want: map[Outcome]int64{Rewritten: 4, Failed: 1},
			failure: "ns/o00003: NamespaceGone: its Namespace does not exist, so it cannot be written; delete the object (kubectl delete works), or create the Namespace again"},
		"its namespace is gone, and it is, too": {says: noNamespace, deleted: true, want: map[Outcome]int64{Rewritten: 4, Gone: 1}},
		"something else is": {says: apierrors.NewNotFound(schema.GroupResource{Group: "other.example.com", Resource: "parents"}, "o00003"),
			want: map[Outcome]int64{Rewritten: 4, Failed: 1}, failure: `ns/o00003: Rejected: parents.other.example.com "o00003" not found`},
		"it was, and is there again": {says: notFound("o00003"), want: map[Outcome]int64{Rewritten: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newShelf(5)
			s.fail = func(name string, try int) error {
				if name != "o00003" || try > 0 && c.failure == "" {
					return nil
				}
				return c.says
			}
			s.unreadable = func(name string) error {
				if name == "o00003" && c.deleted {
					return notFound(name)
				}
				return nil
			}
			_, result, err := walkOver(s, nil)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By).To(Equal(c.want))
			if c.failure != "" {
				g.Expect(result.FailedObjects[0].String()).To(Equal(c.failure))
			}
		})
	}
}

// unconvertible is what the API server says, with the words of a webhook that may
// be alive or dead.
func unconvertible(words string) error {
	return internal("conversion webhook for example.com/v1alpha1, Kind=Widget failed: " + words)
}

func TestWhetherAConversionWebhookIsDeadIsShownByOtherObjects(t *testing.T) {
	dead := `Post "https://127.0.0.1:1/?timeout=30s": dial tcp 127.0.0.1:1: connect: connection refused`
	for name, c := range map[string]struct {
		fails    func(i int) bool
		says     string
		readable func(i int) bool
		failed   int64 // -1 if the walk stops
	}{
		"one of them fails, in words that sound dead": {
			fails: func(i int) bool { return i == 0 }, says: `service "db" does not exist`, failed: 1},
		"the first twenty do, and others can be read": {
			fails: func(i int) bool { return i < 20 }, readable: func(i int) bool { return i >= 20 }, says: dead, failed: 20},
		"all of them do, in words that sound alive": {
			fails: func(int) bool { return true }, says: "no such size", failed: -1},
		"all of them do": {
			fails: func(int) bool { return true }, says: dead, failed: -1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newShelf(100)
			answer := func(good func(int) bool) func(string) error {
				return func(name string) error {
					i := 0
					_, _ = fmt.Sscanf(name, "o%d", &i)
					if good(i) {
						return nil
					}
					return unconvertible(c.says)
				}
			}
			write := answer(func(i int) bool { return !c.fails(i) })
			s.fail = func(name string, _ int) error { return write(name) }
			if s.unreadable = write; c.readable != nil {
				s.unreadable = answer(c.readable)
			}
			_, result, err := walkOver(s, func(w *Walk) { w.PageSize = 50 })
			if c.failed >= 0 {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(result.FailedBy).To(Equal(map[string]int64{"ConversionFailed": c.failed}))
				g.Expect(result.Done()).To(BeEquivalentTo(100))
				return
			}
			stopped := (*Stopped)(nil)
			g.Expect(errors.As(err, &stopped)).To(BeTrue(), "%v", err)
			g.Expect(stopped.Cause).To(Equal(ConversionUnavailable))
			g.Expect(stopped.Error()).To(MatchRegexp(`ns/o\d+, like 7 others in a row: .*` + "failed: "))
			g.Expect(len(s.bodies)).To(BeNumerically("<", 50), "most are not tried: others go on for a moment while one asks")
		})
	}
}

func TestAnObjectThatIsNeverAnsweredIsNamedAndTheOthersGoOn(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		takes time.Duration
	}{
		"busy":    {err: apierrors.NewTooManyRequests("later", 1)},
		"away":    {err: apierrors.NewServiceUnavailable("no endpoints")},
		"slow":    {err: status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "request did not complete within requested timeout")},
		"silent":  {err: syscall.ECONNRESET},
		"hanging": {err: context.DeadlineExceeded, takes: requestTimeout},
	} {
		for _, bad := range [][]string{{"o00000"}, {"o00019"}, {"o00003", "o00007"}} {
			t.Run(fmt.Sprintf("%s, %d from %s on", name, len(bad), bad[0]), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := NewWithT(t)
					s := newShelf(20)
					s.takes = func(name string) time.Duration {
						if slices.Contains(bad, name) {
							return c.takes
						}
						return 0
					}
					s.fail = func(name string, _ int) error {
						if slices.Contains(bad, name) {
							return c.err
						}
						return nil
					}
					_, result, err := walkOver(s, nil)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: 20 - int64(len(bad)), Failed: int64(len(bad))}))
					g.Expect(result.FailedObjects[0].String()).To(MatchRegexp("^ns/"+bad[0]+`: Unavailable: no success for [1-4]m\d+s: `), "those that hang take turns")
				})
			})
		}
	}
}

func TestAServerThatAnswersNoRequestStopsTheWalkAndTheObjectIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		fine    int  // writes that got through before
		reading bool // reads still do
	}{
		"from the start":                       {0, false},
		"from the start, but reads":            {0, true},
		"after some writes, and reads neither": {10, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := NewWithT(t)
			s := newShelf(20)
			away := apierrors.NewServiceUnavailable("no server")
			s.fail = func(string, int) error {
				if len(s.bodies) <= c.fine {
					return nil
				}
				return away
			}
			s.unreadable = func(string) error {
				if c.reading {
					return nil
				}
				return away
			}
			_, _, err := walkOver(s, nil)
			stopped := (*Stopped)(nil)
			g.Expect(errors.As(err, &stopped)).To(BeTrue(), "%s: %v", name, err)
			g.Expect(stopped.Cause).To(Equal(Unavailable), name)
			g.Expect(stopped.Error()).To(MatchRegexp(`writing ns/o\d+: no success for 1m\d+s: no server`), name)
		})
	}
}
