package rooms

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
)

// root is the repository, seen from this folder.
const root = "../.."

// ours is the map of this repository.
func ours(g *WithT) house {
	contributing, err := os.ReadFile(root + "/CONTRIBUTING.md")
	g.Expect(err).NotTo(HaveOccurred())
	rooms, err := readMap(string(contributing))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(rooms)).To(BeNumerically(">", 20), "rows of the table are not read")
	return rooms
}

func TestEveryFileKeepsToItsRoom(t *testing.T) {
	g := NewWithT(t)
	broken, err := ours(g).inspect(os.DirFS(root))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(broken).To(BeEmpty(), strings.Join(broken, "\n"))
}

func TestEveryDoorLeadsToARoom(t *testing.T) {
	rooms := ours(NewWithT(t))
	for _, r := range rooms {
		for _, open := range r.mayImport {
			around, all := strings.CutSuffix(open, "/...")
			NewWithT(t).Expect(rooms).To(ContainElement(Satisfy(func(other room) bool {
				return other.folder == around || all && within(other.folder, around)
			})), "%s may import %s, which is no room", r.folder, open)
		}
	}
}

func TestWhatBreaksTheMapIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		file, imports, body string
		want                string // empty: allowed
	}{
		"the planner may use the vocabulary": {file: "policies/plan/x.go", imports: modulePath + "/api/v1alpha1"},
		"the planner may not start a walk": {file: "policies/plan/x.go", imports: modulePath + "/controllers/rewrite",
			want: "policies/plan may not import controllers/rewrite"},
		"the pass knows nothing of the planner": {file: "controllers/rewrite/x.go", imports: modulePath + "/policies/plan",
			want: "controllers/rewrite may not import policies/plan"},
		"the reconciler may use both":           {file: "controllers/migration/x.go", imports: modulePath + "/controllers/rewrite"},
		"a command may use the reconciler":      {file: "cmd/moult/x.go", imports: modulePath + "/controllers/migration"},
		"a command may not use test code":       {file: "cmd/moult/x.go", imports: modulePath + "/test/builders", want: "cmd may not import test/builders"},
		"a subcommand may not use it either":    {file: "cmd/moult/status/x.go", imports: modulePath + "/cmd/moult/internal/clitest", want: "cmd may not import cmd/moult/internal/clitest"},
		"a test may use everything":             {file: "test/demo/x.go", imports: modulePath + "/cmd/moult"},
		"a test file may use everything":        {file: "policies/plan/x_test.go", imports: "os"},
		"the API has no client":                 {file: "api/v1alpha1/x.go", imports: "k8s.io/client-go/rest", want: "api is pure and may not import k8s.io/client-go/rest"},
		"the API has no scheme builder of c-r":  {file: "api/v1alpha1/x.go", imports: "sigs.k8s.io/controller-runtime/pkg/scheme", want: "api is pure"},
		"a question about a CRD asks no server": {file: "api/crd/x.go", imports: "sigs.k8s.io/controller-runtime/pkg/client", want: "api is pure"},
		"the API may use apimachinery":          {file: "api/v1alpha1/x.go", imports: "k8s.io/apimachinery/pkg/apis/meta/v1"},
		"a pure room may read an address":       {file: "policies/crddiff/x.go", imports: "net/url"},
		"a pure room may not open one":          {file: "policies/crddiff/x.go", imports: "net/http", want: "policies/crddiff is pure and may not import net/http"},
		"a pure room may not run programs":      {file: "health/x.go", imports: "os/exec", want: "health is pure and may not import os/exec"},
		"the removal gate may ask for health":   {file: "controllers/removal/x.go", imports: modulePath + "/health"},
		"it may not bring Argo CD in with it": {file: "controllers/removal/x.go", imports: modulePath + "/health/argocd",
			want: "controllers/removal may not import health/argocd"},
		"Argo CD's health is built on ours": {file: "health/argocd/x.go", imports: modulePath + "/health"},
		"the command may use both":          {file: "cmd/moult/x.go", imports: modulePath + "/health/argocd"},
		"our health is not built on it":     {file: "health/x.go", imports: modulePath + "/health/argocd", want: "health may not import health/argocd"},
		"a pure room may count time":        {file: "policies/plan/x.go", imports: "time", body: "var pause = time.Second"},
		"a pure room may not look at a clock": {file: "policies/plan/x.go", imports: "time", body: "var start = time.Now()",
			want: "may not ask for the time"},
		"a folder outside of the map":      {file: "controllers/x.go", want: "lies in no room"},
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
			broken, err := ours(g).inspect(fstest.MapFS{c.file: {Data: []byte(content + c.body + "\n")}})
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
		"the tests of what is pure start no server": {"-test ./policies/... ./policies/plan/... ./policies/verdict/... ./policies/labelorigin/...",
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
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, strings.Fields(packages)...)...)
	list.Dir = root
	list.Stderr = os.Stderr
	out, err := list.Output()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return strings.Fields(string(out))
}
