package preview

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/policies/snapshot"
)

var moult = clitest.Moult{NewCommand}

// previewed is how moult preview ends, and what it says.
func previewed(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	got := moult.Run(t, append([]string{"preview"}, args...)...)
	return got.Code, got.Out, got.ErrOut
}

const snapshotOfStaging = `apiVersion: preview.moult.dev/v1alpha1
kind: ClusterSnapshot
cluster: staging
fieldManager: moult
labelKey: moult.dev/migrate
takenAt: "2026-01-02T12:00:00Z"
`

const widgetsCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// repositories are two folders with two entry points each; the second has no v1alpha1.
func repositories(t *testing.T) (dir, base, head string) {
	t.Helper()
	g := NewWithT(t)
	dir = t.TempDir()
	base, head = filepath.Join(dir, "base"), filepath.Join(dir, "head")
	after := strings.Replace(widgetsCRD, "  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n", "", 1)
	for _, cluster := range []string{"production", "staging"} {
		for folder, content := range map[string]string{base: widgetsCRD, head: after} {
			at := filepath.Join(folder, "clusters", cluster)
			g.Expect(os.MkdirAll(at, 0o700)).To(Succeed())
			g.Expect(os.WriteFile(filepath.Join(at, "crd.yaml"), []byte(content), 0o600)).To(Succeed())
		}
	}
	var taken snapshot.Snapshot
	g.Expect(yaml.Unmarshal([]byte(snapshotOfStaging), &taken)).To(Succeed())
	content, err := taken.Write()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(dir, "staging.yaml"), content, 0o600)).To(Succeed())
	return dir, base, head
}

func TestWhatAPreviewCannotUseIsRefused(t *testing.T) {
	dir, base, head := repositories(t)
	sides := []string{"--base", base, "--head", head}
	entries := slices.Clip(append(sides, "--entry", "clusters/production", "--entry", "clusters/staging"))
	one := slices.Clip(append(sides, "--entry", "clusters/staging"))
	snapshot := filepath.Join(dir, "staging.yaml")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no base":                             {[]string{"--head", head}, "name what the pull request starts from with --base"},
		"an unknown flag":                     {append(sides, "--bogus"), "unknown flag: --bogus; see moult preview --help"},
		"a flag's value that is none":         {append(sides, "--max-age", "old"), `invalid argument "old"`},
		"an argument":                         {append(sides, "crds"), `takes no argument, but was given "crds"`},
		"a format that is none":               {append(sides, "-o", "pdf"), `there is no format "pdf"; there are annotations, codequality, html, json, markdown, text`},
		"a format without a file":             {append(sides, "-o", "html="), "write it like html=FILE"},
		"two formats for one file":            {append(sides, "-o", "html="+dir+"/x", "-o", "json="+dir+"/x"), "another output goes to"},
		"two formats to print":                {append(sides, "-o", "text", "-o", "json"), "would both be printed"},
		"a folder that is not there":          {append(one, "-o", "json="+dir+"/nowhere/x"), "nowhere/x cannot be written: there is no folder " + dir + "/nowhere; make it with `mkdir -p " + dir + "/nowhere`"},
		"an entry point that is nowhere":      {append(sides, "--entry", "clusters/none"), "neither --base nor --head has such a folder"},
		"no snapshot":                         {append(one, "--snapshot", dir+"/none"), "no such file"},
		"a file that is no snapshot":          {append(one, "--snapshot", dir+"/base/clusters/production/crd.yaml"), "and not a ClusterSnapshot of preview.moult.dev/v1alpha1; write one with `moult snapshot`"},
		"a snapshot for nobody":               {append(entries, "--snapshot", snapshot), "does not say which entry point it is for; write it like production="},
		"a snapshot of another cluster":       {append(entries, "--snapshot", "production="+snapshot), "is of the cluster staging, and was given for clusters/production"},
		"one snapshot for two entry points":   {append(entries, "--snapshot", "production="+snapshot, "--snapshot", "staging="+snapshot), "one file is of one cluster"},
		"standard input twice":                {[]string{"--base", "-", "--head", "-"}, "only one of --base and --head can be standard input"},
		"a context that is none":              {append(one, "--context", "nowhere"), `--context nowhere: no cluster to talk to`},
		"entry points of standard input":      {[]string{"--base", "-", "--head", head, "--entry", "clusters"}, "--entry needs the files"},
		"something else to fail on than that": {append(sides, "--fail-on", "error"), "--fail-on error is none of blocked, unknown, warning"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			code, out, errOut := previewed(t, c.args...)
			g.Expect(code).To(Equal(cli.ExitError), "all others would be verdicts: %s", errOut)
			g.Expect(errOut).To(ContainSubstring(c.want))
			g.Expect(out).To(BeEmpty())
		})
	}
}

func TestEachVerdictHasItsExitCode(t *testing.T) {
	_, base, head := repositories(t)
	dir, sameBase, _ := repositories(t)
	deprecated := filepath.Join(dir, "deprecated.yaml")
	NewWithT(t).Expect(os.WriteFile(deprecated, []byte(strings.Replace(widgetsCRD, "served: true, storage: false", "served: false, storage: false", 1)), 0o600)).To(Succeed())
	single := filepath.Join(sameBase, "clusters", "staging", "crd.yaml")
	for name, c := range map[string]struct {
		args []string
		want int
	}{
		"safe":                      {[]string{"--base", base, "--head", base, "--entry", "clusters/staging"}, cli.ExitDone},
		"unknown":                   {[]string{"--base", base, "--head", head, "--entry", "clusters/staging"}, cli.ExitUnknown},
		"warnings":                  {[]string{"--base", single, "--head", deprecated}, cli.ExitDone},
		"warnings, to fail on them": {[]string{"--base", single, "--head", deprecated, "--fail-on", "warning"}, cli.ExitWarnings},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			code, out, errOut := previewed(t, c.args...)
			g.Expect(code).To(Equal(c.want), out+errOut)
			g.Expect(errOut).To(BeEmpty(), "a verdict is no error")
		})
	}
}

func TestAPreviewsFileIsReplacedAndWhatIsNoFileIsNot(t *testing.T) {
	g := NewWithT(t)
	dir, base, _ := repositories(t)
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	g.Expect(os.WriteFile(target, []byte("old"), 0o600)).To(Succeed())
	g.Expect(os.Symlink(target, link)).To(Succeed())
	pipe := filepath.Join(dir, "pipe")
	g.Expect(syscall.Mkfifo(pipe, 0o600)).To(Succeed())
	read := make(chan []byte, 1)
	go func() {
		content, _ := os.ReadFile(pipe)
		read <- content
	}()
	code, _, errOut := previewed(t, "--base", base, "--head", base, "--entry", "clusters/staging", "-o", "markdown="+link, "-o", "json="+pipe)
	g.Expect(code).To(Equal(cli.ExitDone), errOut)
	g.Eventually(read, "2m").Should(Receive(ContainSubstring(`"verdict"`)))
	content, err := os.ReadFile(target)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(HavePrefix("<!-- moult preview"))
	info, err := os.Lstat(link)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode()&os.ModeSymlink).NotTo(BeZero(), "still a link")
}
