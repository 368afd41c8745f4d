package main

import (
	"math"
	"runtime/debug"
	"testing"

	. "github.com/onsi/gomega"
)

// The Deployment sets GOMEMLIMIT to the container's limit. The kernel counts more than the Go runtime does.
func TestTheRuntimeLeavesSomeOfTheContainersMemory(t *testing.T) {
	g := NewWithT(t)
	was := debug.SetMemoryLimit(256 << 20)
	t.Cleanup(func() { debug.SetMemoryLimit(was) })
	leaveMemory()
	g.Expect(debug.SetMemoryLimit(-1)).To(And(BeNumerically("<", 220<<20), BeNumerically(">", 200<<20)))
	debug.SetMemoryLimit(math.MaxInt64)
	leaveMemory()
	g.Expect(debug.SetMemoryLimit(-1)).To(Equal(int64(math.MaxInt64)), "without a limit there is none")
}
