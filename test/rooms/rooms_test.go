package rooms

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/programs"
)

// root is the repository, seen from this folder.
const root = "../.."

func TestEveryFileKeepsToItsFloor(t *testing.T) {
	g := NewWithT(t)
	broken, err := inspect(os.DirFS(root))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(broken).To(BeEmpty(), strings.Join(broken, "\n"))
}

func TestTheArchitectureHasTheSentences(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile(root + "/docs/architecture.md")
	g.Expect(err).NotTo(HaveOccurred())
	for _, f := range house {
		g.Expect(string(page)).To(ContainSubstring("\n- " + f.sentence + "\n"))
	}
}

func TestNoImportRunsBackUp(t *testing.T) {
	g := NewWithT(t)
	for above, f := range house {
		for _, open := range f.imports {
			other, ok := floorOf(open)
			g.Expect(ok).To(BeTrue(), "%s lies on no floor", open)
			below := slices.IndexFunc(house, func(f floor) bool { return f.sentence == other.sentence })
			g.Expect(below > above || slices.Contains(f.folders, "health/argocd")).To(BeTrue(), "%v may not import %s, which is above", f.folders, open)
		}
	}
}

func TestWhatIsNotWhereItBelongsIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		file, imports, body string
		want                string // empty: allowed
	}{
		"the planner may use the vocabulary": {file: "policies/plan/x.go", imports: modulePath + "/api/v1alpha1"},
		"the planner may not start a walk": {file: "policies/plan/x.go", imports: modulePath + "/controllers/rewrite",
			want: "policies/plan/x.go: may not import controllers/rewrite"},
		"a controller does not go outside by itself": {file: "controllers/rewrite/x.go", imports: modulePath + "/clusters/inspect",
			want: "may not import clusters/inspect"},
		"what reads clusters may use the walk": {file: "clusters/inspect/x.go", imports: modulePath + "/controllers/rewrite/owners"},
		"it may not use a reconciler": {file: "clusters/inspect/x.go", imports: modulePath + "/controllers/removal",
			want: "may not import controllers/removal"},
		"the reconciler may use both":           {file: "controllers/migration/x.go", imports: modulePath + "/controllers/rewrite"},
		"a command may use the reconciler":      {file: "cmd/moult/x.go", imports: modulePath + "/controllers/migration"},
		"a command may not use test code":       {file: "cmd/moult/x.go", imports: modulePath + "/test/builders", want: "may not import test/builders"},
		"a subcommand may not use it either":    {file: "cmd/moult/status/x.go", imports: modulePath + "/cmd/moult/internal/clitest", want: "may not import cmd/moult/internal/clitest"},
		"a test may use everything":             {file: "test/demo/x.go", imports: modulePath + "/cmd/moult"},
		"a test file may use everything":        {file: "policies/plan/x_test.go", imports: "os"},
		"the API has no client":                 {file: "api/v1alpha1/x.go", imports: "k8s.io/client-go/rest", want: "is pure and may not import k8s.io/client-go/rest"},
		"the API has no scheme builder of c-r":  {file: "api/v1alpha1/x.go", imports: "sigs.k8s.io/controller-runtime/pkg/scheme", want: "is pure"},
		"a question about a CRD asks no server": {file: "api/crd/x.go", imports: "sigs.k8s.io/controller-runtime/pkg/client", want: "is pure"},
		"the API may use apimachinery":          {file: "api/v1alpha1/x.go", imports: "k8s.io/apimachinery/pkg/apis/meta/v1"},
		"a pure room may read an address":       {file: "policies/crddiff/x.go", imports: "net/url"},
		"a pure room may not open one":          {file: "policies/crddiff/x.go", imports: "net/http", want: "is pure and may not import net/http"},
		"a pure room may not run programs":      {file: "health/x.go", imports: "os/exec", want: "is pure and may not import os/exec"},
		"the removal gate may ask for health":   {file: "controllers/removal/x.go", imports: modulePath + "/health"},
		"it may not bring Argo CD in with it": {file: "controllers/removal/x.go", imports: modulePath + "/health/argocd",
			want: "may not import health/argocd"},
		"Argo CD's health is built on ours": {file: "health/argocd/x.go", imports: modulePath + "/health"},
		"the command may use both":          {file: "cmd/moult/x.go", imports: modulePath + "/health/argocd"},
		"our health is not built on it":     {file: "health/x.go", imports: modulePath + "/health/argocd", want: "may not import health/argocd"},
		"a pure room may count time":        {file: "policies/plan/x.go", imports: "time", body: "var pause = time.Second"},
		"a pure room may not look at a clock": {file: "policies/plan/x.go", imports: "time", body: "var start = time.Now()",
			want: "may not ask for the time"},
		"a folder outside of the house":    {file: "vendor/x.go", want: "lies on no floor"},
		"a new folder at the top":          {file: "internal/x.go", want: "nothing new at the top"},
		"a new file at the top":            {file: "notes.txt", want: "nothing new at the top"},
		"a folder with a name for nothing": {file: "cmd/moult/util/x.go", want: "cmd/moult/util: a folder is named after what lies in it"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			content := "package x\n"
			if c.imports != "" {
				content += "import \"" + c.imports + "\"\n"
			}
			broken, err := inspect(fstest.MapFS{c.file: {Data: []byte(content + c.body + "\n")}})
			g.Expect(err).NotTo(HaveOccurred())
			if c.want == "" {
				g.Expect(broken).To(BeEmpty())
				return
			}
			g.Expect(broken).To(ContainElement(ContainSubstring(c.want)))
		})
	}
}

// TestWhatIsLinked looks at everything a package brings along, the packages of others included.
func TestWhatIsLinked(t *testing.T) {
	for name, c := range map[string]struct {
		packages string
		never    []string
	}{
		"the controller carries neither Kubernetes itself nor Argo CD": {"./cmd/moult-controller",
			[]string{"k8s.io/kubernetes", "github.com/argoproj/gitops-engine", "github.com/argoproj/argo-cd"}},
		// gomega is linked all the same: fluxcd/pkg/runtime/conditions keeps its matchers among its code. They import
		// net/http/httptest, which imports testing since Go 1.27; that package registers its flags only when it is asked to.
		"no test code is shipped": {"./cmd/moult ./cmd/moult-controller",
			[]string{modulePath + "/test", "sigs.k8s.io/controller-runtime/pkg/envtest"}},
		"nor is Helm in the controller": {"./cmd/moult-controller", []string{"helm.sh"}},
		"the planner brings no client along": {"./policies/plan/...",
			[]string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime"}},
		"the API brings no client along": {"./api/...",
			[]string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime"}},
		// What compares them with a real API server is in test/conformance.
		"the tests of what is pure start no server": {"-test ./policies/...",
			[]string{modulePath + "/test/controlplane", "sigs.k8s.io/controller-runtime/pkg/envtest"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			linked := dependencies(t, c.packages)
			g.Expect(linked).NotTo(BeEmpty())
			for _, dependency := range linked {
				for _, never := range c.never {
					g.Expect(within(dependency, never)).To(BeFalse(), "%s links %s; `go mod why %s` tells how", c.packages, dependency, dependency)
				}
			}
		})
	}
}

func dependencies(t *testing.T, packages string) []string {
	t.Helper()
	programs.Anew()
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, strings.Fields(packages)...)...)
	list.Dir = root
	list.Stderr = os.Stderr
	out, err := list.Output()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return strings.Fields(string(out))
}

// Somebody who wants to help reads all of it first.
func TestContributingIsShort(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile(root + "/CONTRIBUTING.md")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(strings.Fields(string(page)))).To(BeNumerically("<=", 900))
}
