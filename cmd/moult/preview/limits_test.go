package preview

import (
	"bytes"
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
			stop := p.limit(c.memory, c.longest, func(code int) { ended <- code })
			defer stop()
			g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(Equal(cli.ExitError)))
			g.Expect(errOut.String()).To(ContainSubstring(c.says))
		})
	}
}
