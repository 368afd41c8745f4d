// Package newcomer does what docs/install.md has a newcomer do, with the commands that are in it: from install.yaml on an API
// server that has nothing else to a CRD that is migrated. kubectl is the pinned one, whose file MOULT_KUBECTL names;
// `make test-full PARTS=newcomer` builds it.
//
// No kubelet and no controller manager runs beside the API server. What they would do is done between two blocks of commands:
// the controller is started as its Deployment asks, roles are aggregated, and the Deployment gets its status.
package newcomer

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/docs"
	"github.com/moult-dev/moult/test/install"
	"github.com/moult-dev/moult/test/running"
)

const (
	root    = "../.."
	objects = 500
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	running.Quiet()
	controlplane.Run(m, &cp, controlplane.Own("Moult is installed by hand"))
}

func TestANewcomersPath(t *testing.T) {
	g := NewWithT(t)
	crd := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Build()
	widgets := running.InstallFlipped(t, cp, crd, objects)
	folder := belongings(t, widgets.Live())

	kubelet := install.NewKubelet(t, cp)
	_, section, err := docs.ToTheFirstCRD(root)
	g.Expect(err).NotTo(HaveOccurred())
	var printed, shown string
	for _, block := range docs.Blocks(section) {
		if block.Language == "console" {
			shown = block.Text
			continue
		}
		g.Expect(block.Language).To(Equal("sh"))
		printed = run(t, folder, block.Text)
		kubelet.Look()
	}

	g.Expect(kubelet.Running()).To(BeTrue(), "the document installs the controller")
	g.Expect(widgets.Reason()).To(Equal(v1alpha1.ReasonMigrated))
	g.Expect(widgets.Stored()).To(Equal(map[string]int{"v1": objects}))
	g.Expect(widgets.StoredVersions()).To(Equal([]string{"v1"}))
	g.Expect(shown).NotTo(BeEmpty())
	g.Expect(printed).To(ContainSubstring(shown), "the document shows what is printed")
}

// belongings are what a newcomer has in the working folder: the release and the CRD.
func belongings(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) string {
	t.Helper()
	g := NewWithT(t)
	folder := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(folder, name)
		g.Expect(os.MkdirAll(filepath.Dir(name), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(name, []byte(text), 0o600)).To(Succeed())
	}
	built, err := render.Folder(filepath.Join(root, "clusters/base"), render.Options{}) // as make release does
	g.Expect(err).NotTo(HaveOccurred())
	write("dist/install.yaml", builders.YAML(built.Objects))
	manifest, err := yaml.Marshal(map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": crd.Name}, "spec": crd.Spec})
	g.Expect(err).NotTo(HaveOccurred())
	write("config/crd/widgets.yaml", string(manifest))
	kubeconfig, err := cp.APIServer().KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())
	write("kubeconfig", string(kubeconfig))
	return folder
}

// run runs a block of commands as it is, and returns what it prints.
func run(t *testing.T, folder, commands string) string {
	t.Helper()
	g := NewWithT(t)
	kubectl := os.Getenv("MOULT_KUBECTL")
	g.Expect(kubectl).To(BeAnExistingFile(), "MOULT_KUBECTL; make test-full PARTS=newcomer sets it")
	shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	shell.Dir = folder
	programs := filepath.Dir(kubectl) + ":" + filepath.Dir(install.Program(t, "moult"))
	shell.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(folder, "kubeconfig"), "HOME="+folder, "PATH="+programs+":"+os.Getenv("PATH"))
	printed, err := shell.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s\n%s", commands, printed)
	t.Logf("%s%s", commands, printed)
	return string(printed)
}
