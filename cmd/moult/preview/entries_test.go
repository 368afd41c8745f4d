package preview

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

const fluxOf = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: crds, namespace: flux-system}\nspec: {path: ./crds, prune: false, interval: 10m}\n"

// release is a HelmRelease of a chart at a version.
func release(version string) string {
	return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: widgets, namespace: widgets}\nspec: {chart: {spec: {chart: widgets, version: " + version + "}}}\n"
}

func TestEntryPointsAreFoundAndFollowed(t *testing.T) {
	all := map[string]string{"crds/crd.yaml": widgetsCRD, "clusters/production/crds.yaml": fluxOf, "clusters/staging/crds.yaml": fluxOf, "staging.yaml": snapshotOfStaging, "prod.yaml": snapshotOfStaging}
	one := map[string]string{"crds/crd.yaml": widgetsCRD, "clusters/only/crds.yaml": fluxOf}
	for name, c := range map[string]struct {
		files map[string]string
		args  []string
		code  int
		want  string
	}{
		"several clusters":             {all, []string{"--base", ".", "--head", "."}, cli.ExitDone, "followed: the entry points clusters/production, clusters/staging"},
		"one cluster":                  {one, []string{"--base", "crds", "--head", "."}, cli.ExitUnknown, "followed: the entry points clusters/only"},
		"one cluster, with a snapshot": {one, []string{"--base", ".", "--head", ".", "--snapshot", "clusters/only/crds.yaml"}, cli.ExitError, "--snapshot clusters/only/crds.yaml"},
		"snapshots of several clusters": {all, []string{"--base", ".", "--head", ".", "--snapshot", "staging.yaml", "--snapshot", "prod.yaml", "-o", "markdown=my comment.md", "--fail-on", "warning"}, cli.ExitError,
			"--entry clusters/staging --snapshot staging=staging.yaml --snapshot ENTRY=prod.yaml --output 'markdown=my comment.md' --fail-on warning`"},
	} {
		t.Run(name, func(t *testing.T) {
			g := clitest.InRepository(t, c.files)
			code, out, errOut := previewed(t, c.args...)
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(errOut).To(ContainSubstring(c.want))
		})
	}
	g := clitest.InRepository(t, one)
	code, _, errOut := previewed(t, "--base", ".", "--head", ".", "--entry", ".")
	g.Expect(code).To(Equal(cli.ExitDone), errOut)
	code, _, errOut = previewed(t, "--base", "clusters/only", "--head", "clusters/only")
	g.Expect(code).To(Equal(cli.ExitDone), "that is an entry point: %s", errOut)
}

func TestWhatCannotBeSeenIsUnknownOnlyWhereItChanges(t *testing.T) {
	for name, c := range map[string]struct {
		before, after map[string]string
		want          int
		says          string
	}{
		"a chart as it was":    {map[string]string{"h.yaml": release("1.0.0")}, map[string]string{"h.yaml": release("1.0.0")}, cli.ExitDone, "NotFollowed"},
		"a chart of a version": {map[string]string{"h.yaml": release("1.0.0")}, map[string]string{"h.yaml": release("2.0.0")}, cli.ExitUnknown, "HelmRelease widgets/widgets changes"},
		"a new chart":          {map[string]string{}, map[string]string{"h.yaml": release("1.0.0")}, cli.ExitUnknown, "HelmRelease widgets/widgets is new"},
		"a chart that goes":    {map[string]string{"h.yaml": release("1.0.0")}, map[string]string{}, cli.ExitUnknown, "HelmRelease widgets/widgets no longer exists, or can be seen from now on"},
		"a chart in Git":       {map[string]string{"h.yaml": strings.Replace(release("1.0.0"), "chart: widgets", "chart: ./chart", 1), "../chart/x.yaml": "a: b"}, map[string]string{"h.yaml": strings.Replace(release("1.0.0"), "chart: widgets", "chart: ./chart", 1), "../chart/x.yaml": "a: c"}, cli.ExitUnknown, "HelmRelease widgets/widgets changes"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			for side, files := range map[string]map[string]string{"base": c.before, "head": c.after} {
				g.Expect(os.MkdirAll(filepath.Join(dir, side, "entry"), 0o700)).To(Succeed())
				g.Expect(os.MkdirAll(filepath.Join(dir, side, "chart"), 0o700)).To(Succeed())
				g.Expect(os.WriteFile(filepath.Join(dir, side, "entry", "crd.yaml"), []byte(widgetsCRD), 0o600)).To(Succeed())
				for name, content := range files {
					g.Expect(os.WriteFile(filepath.Join(dir, side, "entry", name), []byte(content), 0o600)).To(Succeed())
				}
			}
			code, out, errOut := previewed(t, "--base", filepath.Join(dir, "base"), "--head", filepath.Join(dir, "head"), "--entry", "entry", "-o", "json")
			g.Expect(code).To(Equal(c.want), out+errOut)
			g.Expect(out).To(ContainSubstring(c.says))
		})
	}
}

func TestASnapshotOfNoEntryPointIsNamed(t *testing.T) {
	dir, base, _ := repositories(t)
	snapshot := filepath.Join(dir, "staging.yaml")
	crd := filepath.Join(base, "clusters", "staging", "crd.yaml")
	file := []string{"--base", crd, "--head", crd}
	entry := []string{"--base", base, "--head", base, "--entry", "clusters/staging"}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a snapshot without entry points": {append(file, "--snapshot", "prod="+snapshot), "is for the entry point prod, and there is no --entry; name it with --entry, or write --snapshot " + snapshot},
		"a context without entry points":  {append(file, "--context", "prod=kind"), "is for the entry point prod, and there is no --entry; name it with --entry, or write --context kind"},
		"a snapshot for another":          {append(entry, "--snapshot", "prod="+snapshot), "there is no entry point prod among clusters/staging"},
		"a snapshot that is nowhere":      {append(file, "--snapshot", dir+"/none"), "`moult snapshot --context CONTEXT -f " + dir + "/none` writes one"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			code, _, errOut := previewed(t, c.args...)
			g.Expect(code).To(Equal(cli.ExitError))
			g.Expect(errOut).To(ContainSubstring(c.want))
		})
	}
	g := NewWithT(t)
	odd := filepath.Join(dir, "a=b.yaml")
	g.Expect(os.WriteFile(odd, []byte(snapshotOfStaging), 0o600)).To(Succeed())
	_, _, errOut := previewed(t, append(file, "--snapshot", odd)...)
	g.Expect(errOut).NotTo(ContainSubstring("entry point"), "a file may be called so")
}

func TestAnInterruptedPreviewSaysSo(t *testing.T) {
	g := NewWithT(t)
	_, base, head := repositories(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := moult.RunContext(ctx, nil, "preview", "--base", base, "--head", head, "--entry", "clusters/staging")
	g.Expect(got.Code).To(Equal(cli.ExitInterrupted))
	g.Expect(got.ErrOut).To(Equal("moult: interrupted\n"))
}
