package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// contextsOf is a kubeconfig with a context for each user; the admin's has no user. There is no current context.
func (w *world) contextsOf(users map[string]string) (path string) {
	w.t.Helper()
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
	path = filepath.Join(w.t.TempDir(), "contexts")
	w.Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
	return path
}

// snapshot runs `moult snapshot` on a kubeconfig.
func (w *world) snapshot(kubeconfig string, args ...string) answer {
	w.t.Helper()
	var out, errOut bytes.Buffer
	code := run(w.ctx, "moult", append([]string{"snapshot", "--kubeconfig", kubeconfig, "--label-key", w.label}, args...), &out, &errOut)
	return answer{code, out.String(), errOut.String()}
}

func TestASnapshotHasNoTextForPeople(t *testing.T) {
	g := NewWithT(t)
	got := alone(t, newSnapshotCommand, "-o", "foo")
	g.Expect(got.code).To(Equal(exitError))
	g.Expect(got.errOut).To(Equal("moult: -o foo is none of json, yaml; for a file of that name write -f foo\n"))
}

// Three ways to the same cluster that may see more or less of it.
func TestASnapshotOfEachContextHoldsWhatItsUserMaySee(t *testing.T) {
	w := newWorld(t, 7)
	group := w.gr.Group
	reader, less := "snapshot-reader-"+group, "snapshot-less-"+group
	running.User(t, cp.Config, reader,
		running.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "list"), running.Rule("moult.dev", "versionremovals", "list"), running.Rule(group, "widgets", "list"))
	running.User(t, cp.Config, less, running.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get"))
	kubeconfig := w.contextsOf(map[string]string{"admin": "", "reader": reader, "less": less})
	for context, c := range map[string]struct {
		objects int64 // -1 for not read
		notRead []string
	}{
		"admin":  {7, nil},
		"reader": {7, []string{"not read: the API server's metrics may not be read; it takes get on the path /metrics"}},
		"less": {-1, []string{
			"not read: the API server's metrics may not be read; it takes get on the path /metrics",
			"not read: the objects of " + w.crd.Name + " may not be read; it takes list on widgets in " + group,
			"not read: VersionRemovals may not be read; it takes list on versionremovals in moult.dev",
		}},
	} {
		t.Run(context, func(t *testing.T) {
			g := NewWithT(t)
			file := filepath.Join(t.TempDir(), context+".yaml")
			got := w.snapshot(kubeconfig, "--context", context, "-f", file, w.crd.Name)
			g.Expect(got.code).To(Equal(exitDone), got.errOut)
			g.Expect(got.out).To(BeEmpty())
			lines := strings.Split(strings.TrimSpace(got.errOut), "\n")
			g.Expect(lines[0]).To(And(HavePrefix(context+": 1 CRD, "), HaveSuffix(" in "+file)))
			g.Expect(lines[1:]).To(HaveExactElements(c.notRead))

			content, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			taken, err := snapshot.Read(content)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect([]string{taken.Cluster, taken.LabelKey, taken.FieldManager}).To(Equal([]string{context, w.label, "moult:" + w.label}))
			objects := int64(-1)
			if taken.CRDs[0].Objects != nil {
				objects = taken.CRDs[0].Objects.Count
			}
			g.Expect(objects).To(Equal(c.objects))
		})
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"the cluster is not named":        {nil, "name the cluster with --context; the kubeconfig has admin, less, reader"},
		"the context does not exist":      {[]string{"--context", "moon"}, `context "moon" does not exist`},
		"the format is unknown":           {[]string{"--context", "admin", "-o", "xml"}, "xml"},
		"CRDs may not be listed":          {[]string{"--context", "less"}, "no snapshot: the list of CRDs may not be read; it takes list on customresourcedefinitions"},
		"the file cannot be written":      {[]string{"--context", "admin", "-f", "/nowhere/s.yaml", w.crd.Name}, "--file /nowhere/s.yaml cannot be written"},
		"a folder is in the file's place": {[]string{"--context", "admin", "-f", t.TempDir(), w.crd.Name}, "cannot be written"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := w.snapshot(kubeconfig, c.args...)
			g.Expect(got.code).To(Equal(exitError))
			g.Expect(got.out).To(BeEmpty())
			g.Expect(got.errOut).To(And(HavePrefix("moult: "), ContainSubstring(c.want)))
			g.Expect(strings.Count(got.errOut, "\n")).To(Equal(1), "errors are one line")
		})
	}
}

func TestASnapshotIsPrintedAsYAMLOrJSON(t *testing.T) {
	w := newWorldOf(t, builders.CRD(builders.UniqueGroup(t), "widgets"))
	kubeconfig := w.contextsOf(map[string]string{"admin": ""})
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
			got := w.snapshot(kubeconfig, append([]string{"--context", "admin", w.crd.Name, "absent.example.com"}, c.args...)...)
			g.Expect(got.code).To(Equal(exitDone), got.errOut)
			g.Expect(got.errOut).To(ContainSubstring("there is no CRD absent.example.com in the cluster, and the snapshot says so\n"))
			if got.out == "" {
				content, err := os.ReadFile(jsonFile)
				g.Expect(err).NotTo(HaveOccurred())
				got.out = string(content)
			}
			g.Expect(got.out).To(ContainSubstring(c.want))
			_, err := snapshot.Read([]byte(got.out))
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

func TestASnapshotOfLongListsTellsHowFarItIs(t *testing.T) {
	g := NewWithT(t)
	var errOut bytes.Buffer
	board := (&app{errOut: &errOut}).newTakingBoard()
	for done := int64(500); done <= 5000; done += 250 {
		board.tell(progressTold("widgets.example.com", done, 5000))
	}
	board.tell(progressTold("gadgets.example.com", 3, 3))
	board.tell(progressTold("empty.example.com", 0, 0))
	g.Expect(strings.Count(errOut.String(), "\n")).To(Equal(10))
	g.Expect(errOut.String()).To(And(HavePrefix("widgets.example.com  read 500 of 5000 objects\n"), HaveSuffix("widgets.example.com  read 5000 of 5000 objects\n")))
}

func progressTold(crd string, done, total int64) inspect.Progress {
	return inspect.Progress{CRD: crd, Done: done, Total: total}
}
