package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestACommandThatWritesKnowsWhereTo(t *testing.T) {
	for name, c := range map[string]struct {
		contexts      []string
		named, answer string // no answer: no person can be asked
		dryRun        bool
		host, says    string
	}{
		"one context":                            {contexts: []string{"blue"}, host: "https://blue"},
		"two, and one is named":                  {contexts: []string{"blue", "green"}, named: "green", host: "https://green"},
		"two, and nobody can be asked":           {contexts: []string{"blue", "green"}, says: "the kubeconfig has 2 contexts, blue, green; name the one to write to with --context"},
		"two, and nothing is written":            {contexts: []string{"blue", "green"}, dryRun: true, host: "https://blue"},
		"two, and the person agrees":             {contexts: []string{"blue", "green"}, answer: "Y\n", host: "https://blue"},
		"two, and the person does not":           {contexts: []string{"blue", "green"}, answer: "\n", says: "not agreed; nothing is written"},
		"two, and the person closes the shell":   {contexts: []string{"blue", "green"}, answer: "n", says: "not agreed"},
		"two, and the person types a name":       {contexts: []string{"blue", "green"}, answer: "green\n", says: "not agreed"},
		"two, none current, a person is there":   {contexts: []string{"", "blue", "green"}, answer: "y\n", says: "name the one to write to"},
		"two, and the one named is none of them": {contexts: []string{"blue", "green"}, named: "red", says: "the kubeconfig has blue, green"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			file := clientcmdapi.NewConfig()
			file.CurrentContext = c.contexts[0]
			for _, context := range c.contexts {
				if context != "" {
					file.Clusters[context] = &clientcmdapi.Cluster{Server: "https://" + context}
					file.Contexts[context] = &clientcmdapi.Context{Cluster: context}
				}
			}
			raw, err := clientcmd.Write(*file)
			g.Expect(err).NotTo(HaveOccurred())
			path := filepath.Join(t.TempDir(), "kubeconfig")
			g.Expect(os.WriteFile(path, raw, 0o600)).To(Succeed())
			said := &strings.Builder{}
			f := &Factory{ErrOut: said, ContextName: c.named, kubeconfig: path}
			if c.answer != "" {
				f.In = io.Reader(strings.NewReader(c.answer))
			}
			cfg, err := f.ConfigToWrite(c.dryRun)
			if c.says != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.says)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(cfg.Host).To(Equal(c.host))
			if c.answer != "" {
				g.Expect(said.String()).To(Equal("write to the cluster of context blue, at https://blue? [y/N] "))
			}
		})
	}
}
