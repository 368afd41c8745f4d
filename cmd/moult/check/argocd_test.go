package check

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/lua"
)

func TestCheckArgoCDFindsAGateThatHoldsNothing(t *testing.T) {
	all := lua.ArgoCDConfig()
	changed := func(key, value string) map[string]string {
		data := maps.Clone(all)
		if data[key] = value; value == "" {
			delete(data, key)
		}
		return data
	}
	for name, c := range map[string]struct {
		data      map[string]string
		code      int
		out, says string
	}{
		"all is installed":        {all, 0, "installed  " + lua.GateHealthKey, ""},
		"nothing is":              {nil, 1, "missing    " + lua.GateHealthKey, "without it, a VersionRemoval holds nothing back; list clusters/components/argocd-health"},
		"another script is there": {changed(lua.GateHealthKey, "return {status='Healthy'}"), 1, "different  " + lua.GateHealthKey, "is different"},
		"what is optional lacks":  {changed(lua.CRDHealthKey, ""), 0, "missing    " + lua.CRDHealthKey + " (optional)", ""},
		"a line's end has changed": {changed(lua.GateHealthKey, strings.TrimSpace(all[lua.GateHealthKey])), 0,
			"installed  " + lua.GateHealthKey, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			file := filepath.Join(t.TempDir(), "argocd.yaml")
			g.Expect(os.WriteFile(file, []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: argocd-secret}\n---\n"+manifestOf(g, c.data)), 0o600)).To(Succeed())
			got := moult.Run(t, "check", "argocd", "--file", file)
			g.Expect(got.Code).To(Equal(c.code))
			g.Expect(got.Out).To(ContainSubstring(c.out))
			g.Expect(got.ErrOut).To(ContainSubstring(c.says))
		})
	}
}

func TestCheckArgoCDLooksIntoLists(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "list.yaml")
	item := "- " + strings.ReplaceAll(strings.TrimSpace(manifestOf(g, lua.ArgoCDConfig())), "\n", "\n  ")
	g.Expect(os.WriteFile(file, []byte("apiVersion: v1\nkind: List\nitems:\n"+item+"\n"), 0o600)).To(Succeed())
	got := moult.Run(t, "check", "argocd", "--file", file)
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(got.Out).To(ContainSubstring("makes a VersionRemoval a gate"))
}

func manifestOf(g *WithT, data map[string]string) string {
	raw, err := yaml.Marshal(corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: lua.ConfigMap}, Data: data,
	})
	g.Expect(err).NotTo(HaveOccurred())
	return string(raw)
}

func TestCheckArgoCDReadsTheCluster(t *testing.T) {
	w := suite.World(t, 0)
	client := kubernetes.NewForConfigOrDie(cp.Config).CoreV1()
	t.Cleanup(func() {
		_ = client.ConfigMaps("default").Delete(context.Background(), lua.ConfigMap, metav1.DeleteOptions{})
	})
	a := w.Run("check", "argocd", "--namespace", "default")
	w.Expect(a.Code).To(Equal(2))
	w.Expect(a.ErrOut).To(ContainSubstring("there is no ConfigMap argocd-cm in namespace default; name Argo CD's namespace with --namespace"))

	_, err := client.ConfigMaps("default").Create(w.T.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: lua.ConfigMap}, Data: lua.ArgoCDConfig()}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	a = w.Run("check", "argocd", "--namespace", "default", "-o", "json")
	w.Expect(a.Code).To(Equal(0), a.ErrOut)
	w.Expect(a.Out).To(ContainSubstring(`"state": "installed"`))
}
