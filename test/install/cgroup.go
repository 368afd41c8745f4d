package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cgroups is where the kernel's control groups are mounted.
const cgroups = "/sys/fs/cgroup"

// Cgroup is a memory cgroup: what runs in it is killed when it uses more than the limit, as a container is.
type Cgroup struct {
	folder string
	names  cgroupNames
}

// cgroupNames are the files of a cgroup, which versions 1 and 2 call differently.
type cgroupNames struct{ root, limit, peak, events string }

// v1 and v2 are where the memory controller may be mounted.
var (
	v1 = cgroupNames{root: cgroups + "/memory", limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes", events: "memory.oom_control"}
	v2 = cgroupNames{root: cgroups, limit: "memory.max", peak: "memory.peak", events: "memory.events"}
)

// NewCgroup makes a memory cgroup until the test ends. Where none can be made, the test fails: a limit that nobody
// enforces proves nothing.
func NewCgroup(t testing.TB, limit int64) *Cgroup {
	t.Helper()
	c := &Cgroup{names: v1}
	if _, err := os.Stat(filepath.Join(v1.root, v1.limit)); err != nil {
		c.names = v2
	}
	c.folder = filepath.Join(c.names.root, fmt.Sprintf("moult-test-%d-%d", os.Getpid(), time.Now().UnixNano()))
	err := os.Mkdir(c.folder, 0o755)
	if err == nil {
		t.Cleanup(func() { _ = os.Remove(c.folder) })
		err = os.WriteFile(filepath.Join(c.folder, c.names.limit), []byte(strconv.FormatInt(limit, 10)), 0)
	}
	if err != nil {
		t.Fatalf("no memory cgroup can be made at %s, so the shipped memory limit cannot be tested; run as root on Linux with a writable %s whose memory controller is on: %v", c.names.root, cgroups, err)
	}
	return c
}

// Around is a command that enters the cgroup and becomes another one.
func (c *Cgroup) Around(command ...string) []string {
	enter := fmt.Sprintf(`echo $$ > %s/cgroup.procs && exec "$0" "$@"`, c.folder)
	return append([]string{"/bin/sh", "-c", enter}, command...)
}

// Peak is the most memory that was in use, in bytes.
func (c *Cgroup) Peak() (int64, error) {
	raw, err := os.ReadFile(filepath.Join(c.folder, c.names.peak))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
}

// Kills is how many processes the kernel has killed for want of memory.
func (c *Cgroup) Kills() (int64, error) {
	raw, err := os.ReadFile(filepath.Join(c.folder, c.names.events))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			return strconv.ParseInt(strings.TrimSpace(count), 10, 64)
		}
	}
	return 0, fmt.Errorf("%s of %s tells of no kills", c.names.events, c.folder)
}
