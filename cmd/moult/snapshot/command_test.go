package snapshot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// contextsOf is a kubeconfig with a context for each user; the admin's has no user. There is no current context.
func contextsOf(w *clitest.World, users map[string]string) (path string) {
	w.T.Helper()
	content, err := cp.KubeConfig()
	w.Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.Load(content)
	w.Expect(err).NotTo(HaveOccurred())
	admin := config.Contexts[config.CurrentContext]
	config.CurrentContext, config.Contexts = "", map[string]*clientcmdapi.Context{}
	for name, user := range users {
		auth := config.AuthInfos[admin.AuthInfo].DeepCopy()
		auth.Impersonate = user
		config.AuthInfos[name] = auth
		config.Contexts[name] = &clientcmdapi.Context{Cluster: admin.Cluster, AuthInfo: name}
	}
	path = filepath.Join(w.T.TempDir(), "contexts")
	w.Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
	return path
}

// take runs `moult snapshot` on a kubeconfig.
func take(w *clitest.World, kubeconfig string, args ...string) clitest.Answer {
	w.T.Helper()
	return moult.Run(w.T, append([]string{"snapshot", "--kubeconfig", kubeconfig, "--label-key", w.Label}, args...)...)
}

func TestASnapshotHasNoTextForPeople(t *testing.T) {
	g := NewWithT(t)
	got := moult.Run(t, "snapshot", "-o", "foo")
	g.Expect(got.Code).To(Equal(cli.ExitError))
	g.Expect(got.ErrOut).To(Equal("moult: -o foo is none of json, yaml; for a file of that name write -f foo\n"))
}

// Three ways to the same cluster that may see more or less of it.
func TestASnapshotOfEachContextHoldsWhatItsUserMaySee(t *testing.T) {
	w := suite.World(t, 7)
	group := w.GR.Group
	reader, less := "snapshot-reader-"+group, "snapshot-less-"+group
	running.User(t, cp.Config, reader,
		running.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "list"), running.Rule("moult.dev", "versionremovals", "list"), running.Rule(group, "widgets", "list"))
	running.User(t, cp.Config, less, running.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get"))
	kubeconfig := contextsOf(w, map[string]string{"admin": "", "reader": reader, "less": less})
	for context, c := range map[string]struct {
		objects int64 // -1 for not read
		notRead []string
	}{
		"admin":  {7, nil},
		"reader": {7, []string{"not read: the API server's metrics may not be read; it needs get on the path /metrics"}},
		"less": {-1, []string{
			"not read: the API server's metrics may not be read; it needs get on the path /metrics",
			"not read: the objects of " + w.CRD.Name + " may not be read; it needs list on widgets in " + group,
			"not read: VersionRemovals may not be read; it needs list on versionremovals in moult.dev",
		}},
	} {
		t.Run(context, func(t *testing.T) {
			g := NewWithT(t)
			file := filepath.Join(t.TempDir(), context+".yaml")
			got := take(w, kubeconfig, "--context", context, "-f", file, w.CRD.Name)
			g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
			g.Expect(got.Out).To(BeEmpty())
			lines := strings.Split(strings.TrimSpace(got.ErrOut), "\n")
			g.Expect(lines[0]).To(And(HavePrefix(context+": 1 CRD, "), HaveSuffix(" in "+file)))
			g.Expect(lines[1:]).To(HaveExactElements(c.notRead))

			content, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			taken, err := snapshot.Read(content)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect([]string{taken.Cluster, taken.LabelKey, taken.FieldManager}).To(Equal([]string{context, w.Label, "moult:" + w.Label}))
			objects := int64(-1)
			if taken.CRDs[0].Objects != nil {
				objects = taken.CRDs[0].Objects.Count
			}
			g.Expect(objects).To(Equal(c.objects))

			code := cli.ExitDone
			if len(c.notRead) > 0 {
				code = cli.ExitUnknown
			}
			g.Expect(take(w, kubeconfig, "--context", context, "-f", file, w.CRD.Name, "--fail-on", "unknown").Code).To(Equal(code))
		})
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"the cluster is not named":        {nil, "name the cluster with --context; the kubeconfig has admin, less, reader"},
		"the context does not exist":      {[]string{"--context", "moon"}, `context "moon" does not exist`},
		"the format is unknown":           {[]string{"--context", "admin", "-o", "xml"}, "xml"},
		"nothing fails on warnings":       {[]string{"--context", "admin", "--fail-on", "warning"}, "--fail-on warning is none of error, unknown"},
		"places, and nothing to look for": {[]string{"--context", "admin", "--places", "."}, "--secrets and --places are about what --references looks through"},
		"places that are none":            {[]string{"--context", "admin", "--references", "--places", "/nowhere"}, "--places /nowhere: "},
		"CRDs may not be listed":          {[]string{"--context", "less"}, "no snapshot: the list of CRDs may not be read; it needs list on customresourcedefinitions"},
		"the file cannot be written":      {[]string{"--context", "admin", "-f", "/nowhere/s.yaml", w.CRD.Name}, "--file /nowhere/s.yaml cannot be written"},
		"a folder is in the file's place": {[]string{"--context", "admin", "-f", t.TempDir(), w.CRD.Name}, "cannot be written"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := take(w, kubeconfig, c.args...)
			g.Expect(got.Code).To(Equal(cli.ExitError))
			g.Expect(got.Out).To(BeEmpty())
			g.Expect(got.ErrOut).To(And(HavePrefix("moult: "), ContainSubstring(c.want)))
			g.Expect(strings.Count(got.ErrOut, "\n")).To(Equal(1), "errors are one line")
		})
	}
}

func TestASnapshotIsPrintedAsYAMLOrJSON(t *testing.T) {
	w := suite.WorldOf(t, builders.CRD(builders.UniqueGroup(t), "widgets"))
	kubeconfig := contextsOf(w, map[string]string{"admin": ""})
	jsonFile := filepath.Join(t.TempDir(), "s.json")
	w.Expect(os.WriteFile(jsonFile, []byte("what was there before"), 0o600)).To(Succeed())
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"YAML, if nothing is said":     {nil, "cluster: admin\n"},
		"JSON, if it is asked for":     {[]string{"-o", "json"}, "{\n  \"apiVersion\": "},
		"JSON for a file that is JSON": {[]string{"-f", jsonFile}, "{\n  \"apiVersion\": "},
		"YAML for it, if asked for":    {[]string{"-f", jsonFile, "-o", "yaml"}, "cluster: admin\n"},
		"a name of one's own":          {[]string{"--cluster", "production"}, "cluster: production\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := take(w, kubeconfig, append([]string{"--context", "admin", w.CRD.Name, "absent.example.com"}, c.args...)...)
			g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
			g.Expect(got.ErrOut).To(ContainSubstring("the cluster has no CRD absent.example.com; the snapshot records that\n"))
			if got.Out == "" {
				content, err := os.ReadFile(jsonFile)
				g.Expect(err).NotTo(HaveOccurred())
				got.Out = string(content)
			}
			g.Expect(got.Out).To(ContainSubstring(c.want))
			_, err := snapshot.Read([]byte(got.Out))
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}
