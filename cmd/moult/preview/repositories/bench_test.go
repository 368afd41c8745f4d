package repositories

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// BenchmarkPreview measures the program on generated repositories: how long it takes, how much memory, and how many times as long as
// without a change. CLONES=DIR adds the last commit of each clone in a folder. `make bench SCENARIO=preview` prints it.
func BenchmarkPreview(b *testing.B) {
	many, operator := manyClusters(90), anOperator()
	for _, c := range []struct {
		name         string
		base, change state
	}{
		{"90 entries, none changes", many, state{"README.md": "# other\n"}},
		{"90 entries, one changes", many, state{"apps/c07/kustomization.yaml": overlay("c07", "2")}},
		{"90 entries, their base changes", many, state{"base/deployment3.yaml": deployment(3, "v2")}},
		{"90 entries, a CRD of their base changes", many, state{"base/crd3.yaml": strings.Replace(largeCRD(3), "Group 1 of", "Group one of", 1)}},
		{"an operator, a sample changes", operator, state{"samples/s7.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"}},
		{"an operator, a CRD changes", operator, state{"config/crd/bases/crd3.yaml": strings.Replace(largeCRD(3), "Group 1 of", "Group one of", 1)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			dir := b.TempDir()
			git(b, dir, "init", "--quiet", "--initial-branch=main")
			recorded(b, dir, c.base)
			changed := state{}
			for _, s := range []state{c.base, c.change} {
				for path, content := range s {
					changed[path] = content
				}
			}
			recorded(b, dir, changed)
			measure(b, dir, "HEAD~1", "HEAD")
		})
	}
	clones, err := filepath.Glob(filepath.Join(os.Getenv("CLONES"), "*"))
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
	for _, dir := range clones {
		if os.Getenv("CLONES") != "" {
			b.Run(filepath.Base(dir), func(b *testing.B) { measure(b, dir, "HEAD~1", "HEAD") })
		}
	}
}

func recorded(tb testing.TB, dir string, s state) {
	tb.Helper()
	NewWithT(tb).Expect(s.write(dir)).To(Succeed())
	git(tb, dir, "add", "--all")
	git(tb, dir, "commit", "--quiet", "--message", "a commit")
}

// measure runs the program, and says how much of the time it would take to compare a revision with itself.
func measure(b *testing.B, dir, base, head string) {
	b.Helper()
	var took, same time.Duration
	most := int64(0)
	for b.Loop() {
		start := b.Elapsed()
		most = max(most, memoryOf(b, dir, base, head))
		between := b.Elapsed()
		memoryOf(b, dir, head, head)
		took, same = took+between-start, same+b.Elapsed()-between
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took.Seconds()/float64(b.N), "s/preview")
	b.ReportMetric(float64(took)/float64(same), "times-unchanged")
	b.ReportMetric(float64(most)/(1<<10), "MiB-RSS")
}

// memoryOf runs a preview, and is how many KiB it had in memory at most.
func memoryOf(tb testing.TB, dir, base, head string) int64 {
	tb.Helper()
	command := exec.CommandContext(tb.Context(), filepath.Join(binDir, "moult"), "preview", "--offline", "--base", "git:"+base, "--head", "git:"+head, "-o", "json")
	command.Dir = dir
	command.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull)
	if out, err := command.CombinedOutput(); err != nil {
		NewWithT(tb).Expect(command.ProcessState.ExitCode()).NotTo(Equal(2), string(out))
	}
	usage, isUnix := command.ProcessState.SysUsage().(*syscall.Rusage)
	NewWithT(tb).Expect(isUnix).To(BeTrue())
	return usage.Maxrss
}

// manyClusters is a repository with an entry point for each cluster, all of whose overlays have one base of ten large CRDs.
func manyClusters(n int) state {
	s := state{}
	var resources []string
	for i := range 10 {
		s[fmt.Sprintf("base/crd%d.yaml", i)] = largeCRD(i)
		s[fmt.Sprintf("base/deployment%d.yaml", i)] = deployment(i, "v1")
		resources = append(resources, fmt.Sprintf("crd%d.yaml, deployment%[1]d.yaml", i))
	}
	s["base/kustomization.yaml"] = "resources: [" + strings.Join(resources, ", ") + "]\n"
	for i := range n {
		name := fmt.Sprintf("c%02d", i)
		s["clusters/"+name+"/apps.yaml"] = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n" +
			"spec: {path: ./apps/" + name + ", prune: true, interval: 10m, sourceRef: {kind: GitRepository, name: flux-system}}\n"
		s["apps/"+name+"/kustomization.yaml"] = overlay(name, "1")
	}
	return s
}

func overlay(name, replicas string) string {
	return "resources: [../../base]\ncommonAnnotations: {cluster: " + name + "}\npatches:\n- patch: |-\n    - {op: replace, path: /spec/replicas, value: " + replicas + "}\n  target: {kind: Deployment}\n"
}

func deployment(i int, tag string) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d, namespace: d}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: d%[1]d}}\n"+
		"  template:\n    metadata: {labels: {app: d%[1]d}}\n    spec: {containers: [{name: c, image: 'example.com/d:%s'}]}\n", i, tag)
}

// anOperator is a repository of an operator: CRDs as they are generated, built with patches, and in a chart, and much else.
func anOperator() state {
	s := state{"config/default/kustomization.yaml": "resources: [../crd]\ncommonLabels: {app: it}\n", "chart/Chart.yaml": "apiVersion: v2\nname: it\nversion: 1.0.0\n", "chart/values.yaml": "crds: true\n"}
	var resources []string
	for i := range 25 {
		s[fmt.Sprintf("config/crd/bases/crd%d.yaml", i)] = largeCRD(i)
		s[fmt.Sprintf("chart/templates/crd%d.yaml", i)] = "{{- if .Values.crds }}\n" + largeCRD(i) + "{{- end }}\n"
		resources = append(resources, fmt.Sprintf("bases/crd%d.yaml", i))
	}
	s["config/crd/kustomization.yaml"] = "resources: [" + strings.Join(resources, ", ") + "]\npatches:\n- patch: |-\n    - {op: add, path: /metadata/labels, value: {a: b}}\n  target: {kind: CustomResourceDefinition}\n"
	for i := range 1500 {
		s[fmt.Sprintf("samples/s%d.yaml", i)] = deployment(i, "v1")
		s[fmt.Sprintf("pkg/p%d/f.go", i)] = "package p\n"
	}
	return s
}

// largeCRD is as large as those of many projects: 70 KB.
func largeCRD(seed int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: widgets%d.example.com\nspec:\n  group: example.com\n  scope: Namespaced\n"+
		"  names: {kind: Widget%[1]d, plural: widgets%[1]d, singular: widget%[1]d, listKind: Widget%[1]dList}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n", seed)
	for i := range 20 {
		fmt.Fprintf(&s, "          group%d:\n            type: object\n            description: Group %d of %d holds what belongs together.\n            properties:\n", i, i, seed)
		for j := range 10 {
			fmt.Fprintf(&s, "              field%d:\n                description: |-\n                  Field %[1]d says how the thing behaves that this resource stands for, and when it is to\n"+
				"                  do so. It must be a \"DNS label\": lower case letters, digits and dashes.\n                maxLength: 63\n                pattern: ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$\n                type: string\n", j)
		}
	}
	return s.String()
}
