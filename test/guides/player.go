package guides

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/docs"
	"github.com/moult-dev/moult/test/install"
	"github.com/moult-dev/moult/test/running"
)

const root = "../.."

var patience = flag.Duration("play.patience", running.Soon, "how long a command may take to print what the page shows")

// player is the reader of one guide.
type player struct {
	t       *testing.T
	g       Gomega
	folder  string
	kubelet *install.Kubelet
	// printed is what the last block has printed.
	printed string
}

// begin gives the reader a cluster with Moult and Widgets, and a folder with what is in it.
func begin(t *testing.T) *player {
	t.Helper()
	g := NewWithT(t)
	cp := controlplane.New(t)
	p := &player{t: t, g: g, folder: t.TempDir(), kubelet: install.NewKubelet(t, cp)}
	g.Expect(os.CopyFS(p.folder, os.DirFS("testdata"))).To(Succeed())
	for _, name := range []string{"clusters", "policies", "examples", "test"} { // as in a checkout
		path, err := filepath.Abs(filepath.Join(root, name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.Symlink(path, filepath.Join(p.folder, name))).To(Succeed())
	}
	kubeconfig, err := cp.KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())
	p.write("kubeconfig", string(kubeconfig))
	built, err := render.Folder(filepath.Join(root, "clusters/base"), render.Options{}) // as make release does
	g.Expect(err).NotTo(HaveOccurred())
	p.write("dist/install.yaml", builders.YAML(built.Objects))
	for _, commands := range []string{
		"kubectl apply --server-side -f dist/install.yaml",
		"moult rbac crds | kubectl apply --server-side -f -",
		"kubectl apply --server-side -f crds; kubectl wait --for condition=Established --timeout 2m crd/widgets.example.com",
		"until kubectl apply --server-side -f widgets.yaml; do true; done",
		"kubectl config rename-context $(kubectl config current-context) production",
	} {
		p.run(commands)
	}
	return p
}

// play does what a block asks for.
func (p *player) play(b docs.Block) {
	p.t.Helper()
	action, err := b.Action()
	p.g.Expect(err).NotTo(HaveOccurred())
	switch action {
	case docs.Nothing:
	case docs.Run:
		p.run(b.Text)
	case docs.Compare:
		for _, c := range b.Commands() {
			p.compare(b, c)
		}
	case docs.Write:
		p.write(b.Argument, b.Text)
	case docs.Change:
		was, err := os.ReadFile(filepath.Join(p.folder, b.Argument))
		p.g.Expect(err).NotTo(HaveOccurred())
		changed, err := b.Apply(string(was))
		p.g.Expect(err).NotTo(HaveOccurred())
		p.write(b.Argument, changed)
	}
}

// run runs commands, which have to succeed.
func (p *player) run(commands string) {
	p.t.Helper()
	var err error
	p.printed, err = p.shell(commands)
	p.t.Logf("%s\n%s", commands, p.printed)
	p.g.Expect(err).NotTo(HaveOccurred(), "%s\n%s", commands, p.printed)
	p.kubelet.Look()
}

// compare runs a command until it prints what the page shows: controllers take their time. A command may fail, and what it
// prints about that is on the page.
func (p *player) compare(b docs.Block, c docs.Command) {
	p.t.Helper()
	if c.Line == "" {
		if !docs.Shows(c.Output, p.printed) {
			p.t.Errorf("line %d shows\n%s", b.Line, c.Output)
		}
		return
	}
	// The rest of the page is played all the same: one run shows all that is to be corrected.
	NewGomega(func(string, ...int) { p.t.Fail() }).Eventually(func() bool {
		p.printed, _ = p.shell(c.Line)
		return docs.Shows(c.Output, p.printed)
	}, *patience, "200ms").Should(BeTrue())
	if p.t.Logf("$ %s\n%s", c.Line, p.printed); !docs.Shows(c.Output, p.printed) {
		p.t.Logf("line %d shows\n%s", b.Line, c.Output)
	}
	p.kubelet.Look()
}

// shell is what a shell in the reader's folder prints.
func (p *player) shell(commands string) (string, error) {
	kubectl := os.Getenv("MOULT_KUBECTL")
	p.g.Expect(kubectl).To(BeAnExistingFile(), "MOULT_KUBECTL; make test-docs sets it")
	shell := exec.CommandContext(p.t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	shell.Dir = p.folder
	programs := filepath.Dir(kubectl) + ":" + filepath.Dir(install.Program(p.t, "moult"))
	shell.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(p.folder, "kubeconfig"), "HOME="+p.folder, "PATH="+filepath.Join(p.folder, "steps")+":"+programs+":"+os.Getenv("PATH"),
		"GIT_AUTHOR_NAME=reader", "GIT_AUTHOR_EMAIL=reader@example.com", "GIT_COMMITTER_NAME=reader", "GIT_COMMITTER_EMAIL=reader@example.com")
	printed, err := shell.CombinedOutput()
	return string(printed), err
}

func (p *player) write(name, text string) {
	name = filepath.Join(p.folder, name)
	p.g.Expect(os.MkdirAll(filepath.Dir(name), 0o750)).To(Succeed())
	p.g.Expect(os.WriteFile(name, []byte(text), 0o600)).To(Succeed())
}
