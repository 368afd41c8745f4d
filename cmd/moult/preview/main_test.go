package preview

import (
	"os"
	"testing"
)

// TestMain runs the tests as on a person's machine, wherever they run: a pipeline's CI has a preview ask fewer hosts. What
// is for a pipeline sets the variable.
func TestMain(m *testing.M) {
	if err := os.Unsetenv("CI"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
