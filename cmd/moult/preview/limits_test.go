package preview

import (
	"bytes"
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

func TestAPreviewThatTakesTooMuchIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		memory  uint64
		longest time.Duration
		says    string
	}{
		"memory": {1 << 10, time.Hour, "more than 0 MiB of memory"},
		"time":   {1 << 60, time.Millisecond, "longer than 1ms"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var errOut bytes.Buffer
			p := &command{Factory: &cli.Factory{ErrOut: &errOut}}
			ended := make(chan int, 1)
			stop := p.limit(t.Context(), c.memory, c.longest, time.Hour, func(code int) { ended <- code })
			defer stop()
			g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(Equal(cli.ExitError)))
			g.Expect(errOut.String()).To(ContainSubstring(c.says))
		})
	}
}

// Rendering hears of no signal.
func TestAnInterruptedPreviewEnds(t *testing.T) {
	g := NewWithT(t)
	ctx, interrupt := context.WithCancel(t.Context())
	var errOut bytes.Buffer
	p := &command{Factory: &cli.Factory{ErrOut: &errOut}}
	ended := make(chan int, 1)
	exit := func(code int) { ended <- code }

	interrupt()
	p.limit(ctx, 1<<60, time.Hour, time.Hour, exit)() // it ends in order
	defer p.limit(ctx, 1<<60, time.Hour, time.Millisecond, exit)()
	g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(Equal(cli.ExitInterrupted)))
	g.Expect(errOut.String()).To(Equal("error: interrupted\n"))
	g.Consistently(ended, "100ms").ShouldNot(Receive())
}
