package preview

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/policies/snapshot"
)

// branches are a repository whose main has some files, and whose work tree has others, committed on a topic.
func branches(t *testing.T, base, head map[string]string) *WithT {
	t.Helper()
	g := clitest.InRepository(t, base)
	git := func(args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
	}
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	git("checkout", "-q", "-b", "topic")
	git("rm", "-q", "-r", ".")
	for name, content := range head {
		g.Expect(os.MkdirAll(filepath.Dir(name), 0o750)).To(Succeed())
		if target, isLink := strings.CutPrefix(content, "-> "); isLink {
			g.Expect(os.Symlink(target, name)).To(Succeed())
			continue
		}
		g.Expect(os.WriteFile(name, []byte(content), 0o600)).To(Succeed())
	}
	git("add", ".")
	git("commit", "-q", "-m", "two")
	return g
}

// with is some files and more.
func with(some map[string]string, more ...string) map[string]string {
	all := map[string]string{}
	for name, content := range some {
		all[name] = content
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

const (
	redisBefore = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: redis, namespace: apps}\nspec: {chart: {spec: {chart: redis, version: 1.0.0}}}\n"
	redisAfter  = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: redis, namespace: apps}\nspec: {chart: {spec: {chart: redis, version: 1.1.0}}}\n"
)

func acknowledging(what string) string {
	return "acknowledge:\n- {what: " + what + ", why: it has no CRDs, until: " + time.Now().AddDate(0, 1, 0).Format(time.DateOnly) + "}\n"
}

// The author of a pull request, who may work in a fork, could acknowledge what it does.
func TestAPullRequestDoesNotAcknowledgeItsOwnUnknowns(t *testing.T) {
	before, after := map[string]string{"clusters/production/r.yaml": redisBefore}, map[string]string{"clusters/production/r.yaml": redisAfter}
	yes := acknowledging("HelmRelease apps/redis")
	const differs, trusted = ".moult.yaml differs between --base and --head, and is read from --base", "is read from --head because of --trust-head"
	for name, c := range map[string]struct {
		base, head map[string]string
		args       []string
		code       int
		says       string
		silent     string // what it does not say
	}{
		"the base has":                           {with(before, ".moult.yaml", yes), with(after, ".moult.yaml", yes), nil, cli.ExitDone, "1 unknown thing is acknowledged", "--base and --head"},
		"the head does":                          {before, with(after, ".moult.yaml", yes), nil, cli.ExitUnknown, differs, "acknowledged: it has no CRDs"},
		"the head widens what the base has":      {with(before, ".moult.yaml", acknowledging("HelmRelease apps/other")), with(after, ".moult.yaml", acknowledging("'*'")), nil, cli.ExitUnknown, differs, "acknowledged: it has no CRDs"},
		"the head takes it back":                 {with(before, ".moult.yaml", yes), after, nil, cli.ExitDone, differs, trusted},
		"the head corrects what cannot be read":  {with(before, ".moult.yaml", "x"), with(after, ".moult.yaml", yes), nil, cli.ExitUnknown, differs, "acknowledged: it has no CRDs"},
		"the head does, and is trusted":          {before, with(after, ".moult.yaml", yes), []string{"--trust-head"}, cli.ExitDone, trusted, differs},
		"the head takes it back, and is trusted": {with(before, ".moult.yaml", yes), after, []string{"--trust-head"}, cli.ExitUnknown, trusted, differs},
	} {
		t.Run(name, func(t *testing.T) {
			for _, head := range []string{"git:HEAD", "."} {
				g := branches(t, c.base, c.head)
				code, out, errOut := previewed(t, append([]string{"--base", "git:main", "--head", head, "--entry", "clusters/production", "--offline"}, c.args...)...)
				said := strings.Join(strings.Fields(out+errOut), " ")
				g.Expect(code).To(Equal(c.code), said)
				g.Expect(said).To(And(ContainSubstring(c.says), Not(ContainSubstring(c.silent))))
			}
		})
	}
}

// A snapshot that lies in the repository says what a cluster stores, and the pull request could say that it is nothing.
func TestAPullRequestDoesNotSayWhatAClusterStores(t *testing.T) {
	crds := func(content string, more ...string) map[string]string {
		return with(map[string]string{"clusters/production/w.yaml": content}, more...)
	}
	const file = "snapshots/production.yaml"
	written := func(content string) string {
		g := NewWithT(t)
		var taken snapshot.Snapshot
		g.Expect(yaml.Unmarshal([]byte(content), &taken)).To(Succeed())
		whole, err := taken.Write()
		g.Expect(err).NotTo(HaveOccurred())
		return string(whole)
	}
	header := strings.ReplaceAll(snapshotOfStaging, "staging", "production")
	clean, stored := written(header), written(header+"crds: [{name: widgets.example.com, uid: u, generation: 1, conversion: None, storedVersions: [v1alpha1, v1], objects: {count: 3}, "+
		"versions: [{name: v1alpha1, served: true}, {name: v1, served: true, storage: true}]}]\n")
	const differs = file + " differs between --base and --head, and is read from --base"
	for name, c := range map[string]struct {
		base, head map[string]string
		outside    string
		args       []string
		code       int
		says       string
	}{
		"the base has it":                           {crds(widgetsCRD, file, stored), crds(without, file, stored), "", nil, cli.ExitNotDone, "v1alpha1"},
		"the head says that nothing is stored":      {crds(widgetsCRD, file, stored), crds(without, file, clean), "", nil, cli.ExitNotDone, differs},
		"the head makes it a link to another":       {crds(widgetsCRD, file, stored), crds(without, file, "-> other.yaml", "snapshots/other.yaml", clean), "", nil, cli.ExitNotDone, differs},
		"the head makes its folder a link":          {crds(widgetsCRD, file, stored), crds(without, "snapshots", "-> other", "other/production.yaml", clean), "", nil, cli.ExitNotDone, differs},
		"only the head has it":                      {crds(widgetsCRD), crds(without, file, clean), "", nil, cli.ExitUnknown, differs},
		"only the head has it, behind a link":       {crds(widgetsCRD), crds(without, file, "-> other.yaml", "snapshots/other.yaml", clean), "", nil, cli.ExitUnknown, differs},
		"neither has it, since a pipeline makes it": {crds(widgetsCRD), crds(without), stored, nil, cli.ExitNotDone, "v1alpha1"},
		"the head says it, and is trusted":          {crds(widgetsCRD, file, stored), crds(without, file, clean), "", []string{"--trust-head"}, cli.ExitWarnings, "v1alpha1"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, head := range []string{"git:HEAD", "."} {
				g := branches(t, c.base, c.head)
				if c.outside != "" { // a pipeline does this after the checkout
					g.Expect(os.MkdirAll(filepath.Dir(file), 0o750)).To(Succeed())
					g.Expect(os.WriteFile(file, []byte(c.outside), 0o600)).To(Succeed())
				}
				code, out, errOut := previewed(t, append([]string{"--base", "git:main", "--head", head, "--entry", "clusters/production", "--snapshot", file,
					"--max-age", "0", "--fail-on", "warning"}, c.args...)...)
				said := strings.Join(strings.Fields(out+errOut), " ")
				g.Expect(code).To(Equal(c.code), said)
				g.Expect(said).To(ContainSubstring(c.says))
			}
		})
	}
}
