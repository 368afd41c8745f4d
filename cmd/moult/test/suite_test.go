package test

import (
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/webhooks"
)

var moult = clitest.Moult{NewCommand}

// program is set where this test is itself started as the webhook of a command; it says where the payload is dropped.
const program = "MOULT_TEST_WEBHOOK"

func TestMain(m *testing.M) {
	drops := os.Getenv(program)
	if drops == "" {
		os.Exit(m.Run())
	}
	hook := webhooks.NewHandler()
	hook.Change(remove(drops, "spec", "payload"))
	fmt.Println(hook.Serve())
}

// remove has conversions to a version drop a field.
func remove(version string, path ...string) webhooks.Change {
	return func(object *unstructured.Unstructured, _, to string) {
		if to == version {
			unstructured.RemoveNestedField(object.Object, path...)
		}
	}
}
