package clitest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moult-dev/moult/test/running"
)

// KubeconfigAs is that of a user who may do what the rules say and nothing else.
func (w *World) KubeconfigAs(rules ...rbacv1.PolicyRule) string {
	w.T.Helper()
	cp := *w.suite.ControlPlane
	config := running.User(w.T, cp.Config, w.Namespace()+"-reader", rules...)
	content, err := cp.KubeConfig()
	w.Expect(err).NotTo(HaveOccurred())
	admin, err := clientcmd.Load(content)
	w.Expect(err).NotTo(HaveOccurred())
	for _, user := range admin.AuthInfos {
		user.Impersonate = config.Impersonate.UserName
	}
	content, err = clientcmd.Write(*admin)
	w.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(w.T.TempDir(), "kubeconfig")
	w.Expect(os.WriteFile(path, content, 0o600)).To(Succeed())
	return path
}

// EverythingBut are rules to list and get all but some resources.
func (w *World) EverythingBut(left ...string) (rules []rbacv1.PolicyRule) {
	w.T.Helper()
	lists, err := discovery.NewDiscoveryClientForConfigOrDie((*w.suite.ControlPlane).Config).ServerPreferredResources()
	w.Expect(err).NotTo(HaveOccurred())
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		w.Expect(err).NotTo(HaveOccurred())
		for i := range list.APIResources {
			r := &list.APIResources[i]
			gr := schema.GroupResource{Group: gv.Group, Resource: r.Name}.String()
			if !strings.Contains(r.Name, "/") && !slices.Contains(left, gr) && slices.Contains(r.Verbs, "list") {
				rules = append(rules, running.Rule(gv.Group, r.Name, "list", "get"))
			}
		}
	}
	return rules
}
