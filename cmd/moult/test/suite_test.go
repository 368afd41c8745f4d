package test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/webhooks"
)

var moult = clitest.Moult{NewCommand}

// program is set where this test is itself started as the webhook of a command; it says where the payload is dropped.
const program = "MOULT_TEST_WEBHOOK"

// crashes is how many requests that webhook answers before it ends; empty for all.
const crashes = "MOULT_TEST_WEBHOOK_CRASHES"

func TestMain(m *testing.M) {
	drops := os.Getenv(program)
	if drops == "" {
		os.Exit(m.Run())
	}
	hook := webhooks.NewHandler()
	hook.Change(remove(drops, "spec", "payload"))
	if after, err := strconv.Atoi(os.Getenv(crashes)); err == nil {
		hook.Answer(func(*apiextensionsv1.ConversionResponse) {
			if hook.Calls() > after {
				fmt.Println("no more of this")
				os.Exit(3)
			}
		})
	}
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
