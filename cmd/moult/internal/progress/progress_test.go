package progress

import (
	"bytes"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
)

func TestLinesAreWrittenOnlyWhenThereIsNews(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	b := newLines(&out, []string{"a.example.com", "longer.example.com"})
	at := func(phase string, done int64) State {
		return State{Phase: phase, Counts: Of(v1alpha1.Progress{Done: done, Total: 1000, Rate: 100})}
	}
	for _, s := range []State{at("Migrating", 0), at("Migrating", 50), at("Migrating", 99), at("Migrating", 100), at("Verifying", 0)} {
		b.Show("a.example.com", s)
	}
	b.Show("longer.example.com", State{Phase: "Settling", Until: time.Now().Add(time.Minute), Settle: time.Minute})
	b.Show("longer.example.com", State{Phase: "Paused", Note: "remove the annotation"})
	b.Close()
	g.Expect(out.String()).To(Equal(`a.example.com       Migrating, 0 of 1000 objects, 100/s, 10s left
a.example.com       Migrating, 100 of 1000 objects, 100/s, 9s left
a.example.com       Verifying, 0 of 1000 objects, 100/s, 10s left
longer.example.com  Settling, 1m0s left
longer.example.com  Paused, remove the annotation
`))
}

func TestBarsAreDrawnAsFarAsTheWorkIs(t *testing.T) {
	for name, c := range map[string]struct {
		state State
		want  string
	}{
		"half of the objects": {
			State{Phase: "Migrating", Counts: Of(v1alpha1.Progress{Done: 500, Total: 1000, Rate: 100})},
			"Migrating  ████████████░░░░░░░░░░░░ 500/1000 100/s 5s left",
		},
		"half of the settle time": {
			State{Phase: "Settling", Until: time.Now().Add(30*time.Second + 400*time.Millisecond), Settle: time.Minute},
			"Settling  ████████████░░░░░░░░░░░░  30s left",
		},
		"all, and there were no objects": {
			State{Phase: "Migrated", Done: true},
			"Migrated  ████████████████████████",
		},
		"nothing yet": {
			State{Phase: "starting"},
			"starting  ░░░░░░░░░░░░░░░░░░░░░░░░",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var out bytes.Buffer
			b := newBars(&out)
			b.Show("widgets.example.com", c.state)
			b.Close()
			g.Expect(out.String()).To(ContainSubstring("widgets.example.com " + c.want))
		})
	}
}
