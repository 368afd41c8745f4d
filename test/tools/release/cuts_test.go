package main

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// Each of these brings hundreds of packages. That the rest compiles, the tests of a release show.
func TestAReleaseIsBuiltWithoutWhatMoultNeverCalls(t *testing.T) {
	g := NewWithT(t)
	packages := strings.Fields(narrow(t, "../../..", "list", "-deps", "./cmd/moult", "./cmd/moult-controller"))
	g.Expect(packages).To(ContainElements("k8s.io/client-go/tools/leaderelection", "helm.sh/helm/v4/internal/version"))
	for _, heavy := range []string{"k8s.io/client-go/kubernetes", "k8s.io/client-go/informers", "k8s.io/api/extensions/v1beta1", "google.golang.org/grpc", "go.opentelemetry.io/otel/sdk/trace"} {
		g.Expect(packages).NotTo(ContainElement(heavy))
	}
}

// This runs moult-controller with leader election, which lost the most.
func TestTheControllerOfAReleaseLeads(t *testing.T) {
	said := narrow(t, "../../..", "test", "-count=1", "-v", "-run", "^TestThePermissionsInTheReferenceAreEnough$", "./cmd/moult-controller")
	NewWithT(t).Expect(said).To(ContainSubstring("--- PASS: TestThePermissionsInTheReferenceAreEnough"))
}

func TestACut(t *testing.T) {
	const text = `package some

import (
	"fmt"

	_ "k8s.io/heavy" // why
	old "k8s.io/old"
	"k8s.io/young"
)

var all = []func(){
	old.Add,
	young.Add,
}

// Unused is never called.
func Unused() {
	fmt.Println("Unused")
}

func (s some) Used() {}
`
	t.Run("leaves every other line where it was", func(t *testing.T) {
		g := NewWithT(t)
		left, err := cut{file: "some.go", without: []string{"fmt", "k8s.io/heavy", "k8s.io/old", "Unused"}}.apply([]byte(text))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.Fields(string(left))).To(Equal(strings.Fields("package some import ( // why \"k8s.io/young\" ) var all = []func(){ young.Add, } // Unused is never called. func (s some) Used() {}")))
		g.Expect(strings.Count(string(left), "\n")).To(Equal(strings.Count(text, "\n")))
	})
	t.Run("is refused where another version lacks it", func(t *testing.T) {
		_, err := cut{module: "k8s.io/some", file: "some.go", without: []string{"Used"}}.apply([]byte(text))
		NewWithT(t).Expect(err).To(MatchError("some.go of k8s.io/some has no Used any more; adapt test/tools/release/cuts.go to this version"))
	})
}
