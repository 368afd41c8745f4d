package desired

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// Each revision is written to a temporary folder of its own.
func TestTheSameFailureIsTheSameInEveryFolder(t *testing.T) {
	failure := func(folder, what string) error {
		return fmt.Errorf("reading %s: %s", filepath.Join(os.TempDir(), folder, "apps", "crd.yaml"), what)
	}
	g := NewWithT(t)
	g.Expect(failureOf(failure("moult-1", "not found"))).To(Equal(failureOf(failure("moult-2", "not found"))))
	g.Expect(failureOf(failure("moult-1", "not found"))).NotTo(Equal(failureOf(failure("moult-2", "forbidden"))))
}
