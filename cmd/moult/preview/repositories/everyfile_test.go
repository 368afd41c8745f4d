package repositories

import (
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

// mostHeld is the share of the changes that touch no CRD at which a preview may say something else.
const mostHeld = 0.05

// fileChanges are what becomes of a file.
var fileChanges = map[string]func(content string, n int) (string, bool){
	"is deleted":         func(string, int) (string, bool) { return "", false },
	"has a comment more": func(content string, _ int) (string, bool) { return "# a comment\n" + content, true },
	"loses a line": func(content string, n int) (string, bool) {
		return withLine(content, n, func(string) string { return "" }), true
	},
	"has another value": func(content string, n int) (string, bool) { return withLine(content, n, otherValue), true },
	"has another version": func(content string, _ int) (string, bool) {
		return strings.Replace(content, "v1alpha1", "v1alpha7", 1), true
	},
}

// withLine changes one line.
func withLine(content string, n int, change func(string) string) string {
	lines := strings.SplitAfter(content, "\n")
	n %= max(1, len(lines)-1)
	lines[n] = change(lines[n])
	return strings.Join(lines, "")
}

// otherValue gives the last value of a line another text, or another number.
func otherValue(line string) string {
	end := strings.TrimRight(line, "}]\"', \n")
	if at := strings.LastIndexAny(end, " :{["); at < 0 || at+1 == len(end) {
		return line
	}
	more := "x"
	if last := end[len(end)-1]; last >= '0' && last <= '9' {
		more = "7"
	}
	return end + more + line[len(end):]
}

// tally counts what previews say of changes.
type tally struct {
	mu            sync.Mutex
	differ, quiet int
	loud, missed  []string
}

// judge makes a change, and holds what the preview says against what the tools deliver.
func (c *tally) judge(t *testing.T, dirs [3]string, name string, base, head state) {
	t.Helper()
	g := NewWithT(t)
	before, err := deliveredFrom(dirs[0], base)
	g.Expect(err).NotTo(HaveOccurred())
	after, err := deliveredFrom(dirs[1], head)
	g.Expect(err).NotTo(HaveOccurred())
	crds, more := differences(before, after)
	if len(crds) == 0 && more {
		return // it may be that nothing of it matters, and the tools do not say
	}
	got := ofFolders(t, dirs[2], pull{base, head})
	says := got.verdict == "safe" && strings.Contains(got.all, "no CRD changes")
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(crds) > 0:
		c.differ++
		if says {
			c.missed = append(c.missed, fmt.Sprintf("%s: %s: %s", name, crds, got.all))
		}
	case says:
		c.quiet++
	default:
		c.loud = append(c.loud, fmt.Sprintf("%s: %.400s", name, got.all))
	}
}

// check takes by how many standard deviations a share may be larger that was drawn by chance. With none, every second run would fail
// whose share is just what it may be.
func (c *tally) check(t *testing.T, least int, deviations float64) {
	t.Helper()
	g := NewWithT(t)
	total := c.quiet + len(c.loud)
	t.Logf("%d changes of CRDs, %d missed; %d other changes, of which %d are said to be something else:\n%s", c.differ, len(c.missed), total, len(c.loud), strings.Join(c.loud, "\n"))
	g.Expect(c.missed).To(BeEmpty())
	most := mostHeld*float64(total) + deviations*math.Sqrt(mostHeld*(1-mostHeld)*float64(total))
	g.Expect(float64(len(c.loud))).To(BeNumerically("<=", most), "changes that touch no CRD")
	g.Expect(c.differ).To(BeNumerically(">=", least), "changes of CRDs")
	g.Expect(total).To(BeNumerically(">=", least), "other changes")
}

func foldersOf(t *testing.T) [3]string {
	t.Helper()
	return [3]string{t.TempDir(), t.TempDir(), t.TempDir()}
}

// Every file in turn is changed or deleted, in every repository of the corpus. Where the tools then deliver another CRD, the preview
// does not say that none changes; where they do not, it says that in nearly all cases.
func TestEveryFileIsAccountedFor(t *testing.T) {
	all := &tally{}
	t.Run("in", func(t *testing.T) {
		for _, r := range readCorpus(t) {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				start, dirs := r.served(t).start, foldersOf(t)
				for _, file := range start.paths() {
					for _, what := range changesOf(file) {
						sum := fnv.New32()
						fmt.Fprint(sum, file, what)
						if head := changed(start, file, what, int(sum.Sum32()%1000)); head != nil {
							all.judge(t, dirs, r.name+": "+file+" "+what, start, head)
						}
					}
				}
			})
		}
	})
	all.check(t, 40, 0)
}

var everyChange = flag.Bool("repositories.everychange", false, "make every change of every file, and not only delete it and one more")

// changesOf are the changes that are made of a file.
func changesOf(file string) []string {
	names := slices.Sorted(maps.Keys(fileChanges))
	if *everyChange {
		return names
	}
	const deleted = "is deleted"
	names = slices.DeleteFunc(names, func(name string) bool { return name == deleted })
	sum := fnv.New32()
	fmt.Fprint(sum, file)
	return []string{deleted, names[int(sum.Sum32()%1000)%len(names)]}
}

// changed is a state with one file changed, nil if it is as it was.
func changed(s state, file, what string, n int) state {
	head := maps.Clone(s)
	content, stays := fileChanges[what](s[file], n)
	if head[file] = content; !stays {
		delete(head, file)
	}
	if maps.Equal(head, s) {
		return nil
	}
	return head
}

// The same in repositories that are made up.
func TestEveryFileOfAMadeUpRepositoryIsAccountedFor(t *testing.T) {
	all, dirs := &tally{}, foldersOf(t)
	rapid.Check(t, func(r *rapid.T) {
		s := madeUp(r)
		for range 3 {
			file, what := rapid.SampledFrom(s.paths()).Draw(r, "file"), rapid.SampledFrom(slices.Sorted(maps.Keys(fileChanges))).Draw(r, "what")
			before := len(all.missed)
			if head := changed(s, file, what, rapid.IntRange(0, 40).Draw(r, "line")); head != nil {
				all.judge(t, dirs, file+" "+what, s, head)
			}
			if len(all.missed) > before {
				r.Fatalf("%s\n%q", all.missed[before], s)
			}
		}
	})
	all.check(t, 20, 2)
}

// madeUp is a repository with CRDs in one of the ways that people keep them.
func madeUp(r *rapid.T) state {
	s := state{"README.md": "# it\n", "deploy/deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: it}\nspec: {replicas: 1}\n"}
	is := func(label string) bool { return rapid.Bool().Draw(r, label) }
	root := "crds"
	n := rapid.IntRange(1, 3).Draw(r, "CRDs")
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("w%d.yaml", i))
		s[path.Join(root, names[i])] = smallCRD(i)
	}
	if is("a kustomization beside the CRDs") {
		s[root+"/kustomization.yaml"] = "resources: [" + strings.Join(names, ", ") + "]\n"
		for depth := range rapid.IntRange(0, 3).Draw(r, "overlays") {
			root = overlayOn(r, s, root, depth)
		}
	}
	if is("a chart") {
		chartIn(r, s, "chart")
	}
	switch rapid.SampledFrom([]string{"nothing", "nothing", "Flux", "Argo CD"}).Draw(r, "delivered by") {
	case "Flux":
		s["clusters/one/it.yaml"] = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: it, namespace: flux-system}\nspec: {path: ./" + root + ", prune: true, interval: 1h, sourceRef: {kind: GitRepository, name: flux-system}}\n"
	case "Argo CD":
		s["apps/it.yaml"] = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: it, namespace: argocd}\nspec: {project: default, source: {repoURL: 'https://git.example.com/it', path: " + root + ", targetRevision: HEAD}, destination: {namespace: it}}\n"
	}
	return s
}

func smallCRD(i int) string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets%d.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget%[1]d, plural: widgets%[1]d, singular: widget%[1]d, listKind: Widget%[1]dList}
  versions:
  - name: v1alpha1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object}}
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`, i)
}

// overlayOn adds a kustomization on another one, and is its folder.
func overlayOn(r *rapid.T, s state, below string, depth int) string {
	folder := fmt.Sprintf("overlays/o%d", depth)
	k := "resources: [" + strings.Repeat("../", 2) + below + "]\n"
	switch rapid.SampledFrom([]string{"nothing", "a patch", "a patch's file", "a component", "a transformer", "a ConfigMap", "a replacement"}).Draw(r, "with") {
	case "a patch":
		k += "patches:\n- patch: |-\n    - {op: replace, path: /spec/versions/0/served, value: false}\n  target: {kind: CustomResourceDefinition}\n"
	case "a patch's file":
		k += "patches: [{path: p.yaml, target: {kind: CustomResourceDefinition}}]\n"
		s[folder+"/p.yaml"] = "- op: replace\n  path: /spec/versions/0/served\n  value: false\n"
	case "a component":
		k += "components: [../../components/c]\n"
		s["components/c/kustomization.yaml"] = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: p.yaml, target: {kind: CustomResourceDefinition}}]\n"
		s["components/c/p.yaml"] = "- op: add\n  path: /metadata/labels\n  value: {a: b}\n"
	case "a transformer":
		k += "transformers: [t.yaml]\n"
		s[folder+"/t.yaml"] = "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npath: q.yaml\ntarget: {kind: CustomResourceDefinition}\n"
		s[folder+"/q.yaml"] = "- op: replace\n  path: /spec/versions/1/schema/openAPIV3Schema/type\n  value: object\n"
	case "a ConfigMap":
		k += "configMapGenerator: [{name: c, files: [c.txt]}]\n"
		s[folder+"/c.txt"] = "text\n"
	case "a replacement":
		k += "replacements: [{path: r.yaml}]\n"
		s[folder+"/r.yaml"] = "source: {kind: CustomResourceDefinition, name: widgets0.example.com, fieldPath: spec.group}\ntargets: [{select: {kind: CustomResourceDefinition}, fieldPaths: [spec.group]}]\n"
	}
	s[folder+"/kustomization.yaml"] = k
	return folder
}

// chartIn adds a chart.
func chartIn(r *rapid.T, s state, dir string) {
	s[dir+"/Chart.yaml"] = "apiVersion: v2\nname: it\nversion: 1.0.0\n"
	s[dir+"/values.yaml"] = "crds: true\nreplicas: 1\n"
	s[dir+"/templates/deployment.yaml"] = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: it}\nspec: {replicas: {{ .Values.replicas }}}\n"
	switch rapid.SampledFrom([]string{"crds/", "templates", "a partial", "a file"}).Draw(r, "a chart's CRD is in") {
	case "crds/":
		s[dir+"/crds/w.yaml"] = smallCRD(7)
	case "templates":
		s[dir+"/templates/w.yaml"] = "{{- if .Values.crds }}\n" + smallCRD(7) + "{{- end }}\n"
	case "a partial":
		s[dir+"/templates/_w.tpl"] = "{{ define \"w\" }}\n" + smallCRD(7) + "{{ end }}\n"
		s[dir+"/templates/w.yaml"] = "{{ include \"w\" . }}\n"
	case "a file":
		s[dir+"/files/w.yaml"] = smallCRD(7)
		s[dir+"/templates/w.yaml"] = "{{ .Files.Get \"files/w.yaml\" }}\n"
	}
}
