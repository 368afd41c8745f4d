package cli

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/clusters/inspect"
)

func TestWhomTheAPIServerIsAskedAs(t *testing.T) {
	another := rest.ImpersonationConfig{UserName: "another", UID: "7", Groups: []string{"theirs"}}
	for name, c := range map[string]struct {
		as         rest.ImpersonationConfig
		kubeconfig rest.ImpersonationConfig
		want       rest.ImpersonationConfig
		err        string
	}{
		"no flag":                                {},
		"no flag, and the kubeconfig has a user": {kubeconfig: another, want: another},
		"--as":                                   {as: rest.ImpersonationConfig{UserName: "u"}, want: rest.ImpersonationConfig{UserName: "u"}},
		"--as in place of all that the kubeconfig says of another": {as: rest.ImpersonationConfig{UserName: "u"}, kubeconfig: another, want: rest.ImpersonationConfig{UserName: "u"}},
		"with groups and a UID": {as: rest.ImpersonationConfig{UserName: "u", Groups: []string{"a", "b"}, UID: "1"},
			want: rest.ImpersonationConfig{UserName: "u", Groups: []string{"a", "b"}, UID: "1"}},
		"groups for the kubeconfig's user": {as: rest.ImpersonationConfig{Groups: []string{"a"}}, kubeconfig: another,
			want: rest.ImpersonationConfig{UserName: "another", UID: "7", Groups: []string{"a"}}},
		"a group without a user": {as: rest.ImpersonationConfig{Groups: []string{"a"}}, err: "name the user with --as"},
		"a UID without a user":   {as: rest.ImpersonationConfig{UID: "1"}, err: "name the user with --as"},
	} {
		t.Run(name, func(t *testing.T) {
			g, cfg := NewWithT(t), &rest.Config{Impersonate: c.kubeconfig}
			err := impersonate(cfg, c.as)
			if c.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(cfg.Impersonate).To(Equal(c.want))
		})
	}
}

func TestMoultsOwnUserIsTheOneThatIsInstalledAndLetThrough(t *testing.T) {
	for _, file := range []string{"policies/admission/base/status.yaml", "docs/policies.md", "docs/doctor.md"} {
		content, err := os.ReadFile(filepath.Join("../../../..", file))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(string(content)).To(ContainSubstring(inspect.ControllerUser), file)
	}
	content, err := os.ReadFile("../../../../clusters/base/controller/service-account.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(string(content)).To(And(ContainSubstring("name: moult-controller\n"), ContainSubstring("namespace: moult-system\n")))
}
