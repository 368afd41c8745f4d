package simulation

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// TestMain has rapid play more schedules than it does by default, shrink what it finds for less long, and leave no files
// behind. Flags and RAPID_CHECKS are heeded all the same.
func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	for name, value := range map[string]string{"checks": "200", "shrinktime": "100ms", "nofailfile": "true"} {
		if _, given := os.LookupEnv("RAPID_" + strings.ToUpper(name)); given {
			continue
		}
		if err := flag.Set("rapid."+name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// enough is how long a counter-example is looked for. It is found in a few seconds; the rest is for slow machines.
const enough = 10 * time.Minute

// search looks for a schedule that a migrator cannot stand and another one can, and shrinks it.
func search(t *testing.T, limits Limits, migrator, cure Migrator) (Schedule, Result) {
	t.Helper()
	var schedule Schedule
	var result Result
	plays := 0
	for began := time.Now(); time.Since(began) < enough; {
		q := &quiet{TB: t}
		q.run(func() {
			rapid.Check(q, func(rt *rapid.T) {
				s := Schedules(limits).Draw(rt, "schedule")
				if result.Refuted == "" {
					plays++
				}
				r := Play(t, s, migrator)
				if r.Refuted == "" || Play(t, s, cure).Refuted != "" {
					return
				}
				schedule, result = s, r
				rt.Fatalf("a counter-example")
			})
		})
		if q.failed {
			t.Logf("found after %d plays, and shrunk, in %s", plays, time.Since(began).Round(time.Millisecond))
			return schedule, result
		}
	}
	t.Fatalf("no counter-example in %s", enough)
	return schedule, result
}

// quiet is a test that rapid may fail, without failing the test around it.
type quiet struct {
	rapid.TB
	failed bool
}

// run runs f in a goroutine of its own, because a failed test ends its goroutine.
func (q *quiet) run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (q *quiet) Logf(string, ...any)   {}
func (q *quiet) Log(...any)            {}
func (q *quiet) Errorf(string, ...any) { q.failed = true }
func (q *quiet) Error(...any)          { q.failed = true }
func (q *quiet) Fail()                 { q.failed = true }
func (q *quiet) Failed() bool          { return q.failed }
func (q *quiet) Fatalf(string, ...any) { q.FailNow() }
func (q *quiet) Fatal(...any)          { q.FailNow() }
func (q *quiet) FailNow()              { q.failed = true; runtime.Goexit() }

// tell is a play as a person reads it.
func tell(s Schedule, r Result) string {
	return fmt.Sprintf("\nGIVEN\n  %s\nTHEN\n  %s\n", strings.ReplaceAll(strings.TrimSpace(s.String()), "\n", "\n  "), strings.Join(r.Story, "\n  "))
}
