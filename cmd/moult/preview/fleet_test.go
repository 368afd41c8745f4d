package preview

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/policies/snapshot"
)

const (
	fleetSet = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s, namespace: argocd}\nspec:\n  generators: [{clusters: {selector: {matchLabels: {env: prod}}}}]\n" +
		"  template:\n    metadata: {name: 'it-{{name}}'}\n    spec: {project: default, source: {repoURL: 'https://git.example.com/it', targetRevision: HEAD, path: 'o/{{name}}'}, destination: {server: '{{server}}', namespace: it}}\n"
	fleetSecrets = "apiVersion: v1\nkind: Secret\nmetadata: {name: one, labels: {argocd.argoproj.io/secret-type: cluster, env: prod}}\nstringData: {name: one, server: 'https://one.example.com'}\n" +
		"---\napiVersion: v1\nkind: Secret\nmetadata: {name: two, labels: {argocd.argoproj.io/secret-type: cluster, env: test}}\nstringData: {name: two, server: 'https://two.example.com'}\n"
)

func TestClusterGeneratorsRunWithTheSecretsOfTheClusters(t *testing.T) {
	for name, c := range map[string]struct {
		folder string
		args   []string
		code   int
		says   string
	}{
		"a cluster gets it":       {"one", []string{"--cluster-secrets", "fleet.yaml"}, cli.ExitUnknown, "v1alpha1 of widgets.example.com in apps: what the cluster stores is not known"},
		"no selected cluster":     {"two", []string{"--cluster-secrets", "fleet.yaml"}, cli.ExitDone, "no CRD changes"},
		"nobody names the Secret": {"one", nil, cli.ExitUnknown, "name their Secrets with --cluster-secrets"},
		"there is no such file":   {"one", []string{"--cluster-secrets", "none.yaml"}, cli.ExitError, "--cluster-secrets: open none.yaml"},
		"it is about no cluster":  {"one", []string{"--cluster-secrets", "base/apps/s.yaml"}, cli.ExitError, "--cluster-secrets: base/apps/s.yaml holds no Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			f := files{"fleet.yaml": fleetSecrets}
			for side, crd := range map[string]string{"base": widgetsCRD, "head": without} {
				f[side+"/apps/s.yaml"] = fleetSet
				f[side+"/o/one/w.yaml"], f[side+"/o/two/w.yaml"] = widgetsCRD, widgetsCRD
				f[side+"/o/"+c.folder+"/w.yaml"] = crd
			}
			g := clitest.InRepository(t, f)
			code, out, errOut := previewed(t, append([]string{"--base", "base", "--head", "head", "--entry", "apps", "--offline"}, c.args...)...)
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(out + errOut).To(ContainSubstring(c.says))
		})
	}
}

// Without --cluster-secrets, a Secret about a cluster decides what the cluster generator gives.
func TestASecretAboutAClusterDecides(t *testing.T) {
	for name, c := range map[string]struct {
		head string
		code int
	}{
		"as it was":             {fleetSecrets, cli.ExitDone},
		"another label":         {strings.Replace(fleetSecrets, "env: test", "env: prod", 1), cli.ExitUnknown},
		"another name":          {strings.Replace(fleetSecrets, "name: one, server", "name: two, server", 1), cli.ExitUnknown},
		"a Secret of something": {fleetSecrets + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: three}\n", cli.ExitDone},
	} {
		t.Run(name, func(t *testing.T) {
			f := files{}
			for side, secrets := range map[string]string{"base": fleetSecrets, "head": c.head} {
				f[side+"/apps/s.yaml"], f[side+"/apps/fleet.yaml"] = fleetSet, secrets
				f[side+"/o/one/w.yaml"], f[side+"/o/two/w.yaml"] = widgetsCRD, without
			}
			g := clitest.InRepository(t, f)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "apps", "--offline")
			g.Expect(code).To(Equal(c.code), out+errOut)
		})
	}
}

// A chart is an entry point with its own values, or with files of values over them.
func TestAnEntryPointMayBeAChartWithFilesOfValues(t *testing.T) {
	for name, c := range map[string]struct {
		entry string
		code  int
		says  string
	}{
		"its own values":          {"apps", cli.ExitDone, "no CRD changes"},
		"a file of the chart":     {"apps?values=values-prod.yaml", cli.ExitUnknown, "v1alpha1 of widgets.example.com"},
		"a file from the root":    {"apps?values=env/prod.yaml", cli.ExitUnknown, "v1alpha1 of widgets.example.com"},
		"the last file counts":    {"apps?values=env/prod.yaml,off.yaml", cli.ExitDone, "no CRD changes"},
		"there is no such a file": {"apps?values=none.yaml", cli.ExitUnknown, "none.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			f := files{}
			for side, old := range map[string]string{"base": "true", "head": "false"} {
				f[side+"/apps/Chart.yaml"], f[side+"/apps/values.yaml"], f[side+"/apps/off.yaml"], f[side+"/apps/templates/w.yaml"] = chartC, "old: false\n", "old: false\n", ifOld
				f[side+"/apps/values-prod.yaml"], f[side+"/env/prod.yaml"] = "old: "+old+"\n", "old: "+old+"\n"
			}
			g := clitest.InRepository(t, f)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", c.entry, "--offline")
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(out + errOut).To(ContainSubstring(c.says))
		})
	}
}

// A snapshot is of one cluster. Where Applications bring a CRD to several, one of each is needed.
func TestEachDestinationNeedsItsSnapshot(t *testing.T) {
	application := func(name, server string) string {
		return "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd}\nspec:\n  project: default\n" +
			"  source: {repoURL: 'https://git.example.com/it', targetRevision: HEAD, path: crds}\n  destination: {server: '" + server + "'}\n"
	}
	for name, c := range map[string]struct {
		second    string
		snapshots []string
		code      int
	}{
		"two clusters, one snapshot":       {"https://oslo.example.com", []string{"berlin.yaml"}, cli.ExitUnknown},
		"two clusters, a snapshot of each": {"https://oslo.example.com", []string{"berlin.yaml", "oslo.yaml"}, cli.ExitDone},
		"one cluster":                      {"https://berlin.example.com", []string{"berlin.yaml"}, cli.ExitDone},
	} {
		t.Run(name, func(t *testing.T) {
			var taken snapshot.Snapshot
			g := NewWithT(t)
			g.Expect(yaml.Unmarshal([]byte(snapshotOfStaging), &taken)).To(Succeed())
			taken.TakenAt = time.Now()
			content, err := taken.Write()
			g.Expect(err).NotTo(HaveOccurred())
			f := files{"berlin.yaml": string(content), "oslo.yaml": string(content)}
			for side, crd := range map[string]string{"base": widgetsCRD, "head": without} {
				f[side+"/apps/a.yaml"] = application("berlin", "https://berlin.example.com") + application("other", c.second)
				f[side+"/crds/w.yaml"] = crd
			}
			g = clitest.InRepository(t, f)
			args := []string{"--base", "base", "--head", "head", "--entry", "apps", "--offline"}
			for _, s := range c.snapshots {
				args = append(args, "--snapshot", s)
			}
			code, out, errOut := previewed(t, args...)
			g.Expect(code).To(Equal(c.code), out+errOut)
			if c.code == cli.ExitUnknown {
				g.Expect(out).To(ContainSubstring("https://berlin.example.com, https://oslo.example.com"))
			}
		})
	}
}
