package steady_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/controllers/steady"
	"github.com/moult-dev/moult/test/running"
)

func TestAMachinesClockThatIsSetPutsNothingAhead(t *testing.T) {
	for name, c := range map[string]struct {
		set  []time.Duration // one after the other
		want time.Duration   // by how much it shows another time than a clock that is not set
	}{
		"it is not set":             {nil, 0},
		"put ahead":                 {[]time.Duration{time.Hour}, 0},
		"put ahead and back":        {[]time.Duration{time.Hour, -time.Hour}, 0},
		"put back":                  {[]time.Duration{-time.Hour}, -time.Hour},
		"put back and ahead":        {[]time.Duration{-time.Hour, time.Hour}, 0},
		"put back and ahead by two": {[]time.Duration{-time.Hour, 2 * time.Hour}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			machine := &running.Clock{}
			clock := steady.Of(machine)
			before := clock.Now()
			for _, d := range c.set {
				machine.Set(d)
			}
			now := clock.Now()
			g.Expect(time.Until(now.Round(0))).To(BeNumerically("~", c.want, 10*time.Second))
			g.Expect(now.Sub(before)).To(BeNumerically("<", 10*time.Second), "moments of one process are compared by the monotonic clock")
			g.Expect(now.Sub(before)).To(BeNumerically(">=", 0))

			machine.Leap(time.Minute)
			g.Expect(clock.Since(before)).To(BeNumerically("~", time.Minute, 10*time.Second), "time that passes is time that passes")
			g.Expect(clock.Now().Round(0).Sub(now.Round(0))).To(BeNumerically("~", time.Minute, 10*time.Second))
		})
	}
}
