package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/desired/files"
)

// Each revision is written to a temporary folder of its own.
func TestTheSameFailureIsTheSameInEveryFolder(t *testing.T) {
	failure := func(folder, what string) error {
		return fmt.Errorf("reading %s: %s", filepath.Join(os.TempDir(), folder, "apps", "crd.yaml"), what)
	}
	g := NewWithT(t)
	g.Expect(files.FailureOf(failure("moult-1", "not found"))).To(Equal(files.FailureOf(failure("moult-2", "not found"))))
	g.Expect(files.FailureOf(failure("moult-1", "not found"))).NotTo(Equal(files.FailureOf(failure("moult-2", "forbidden"))))
}
