package scan

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/commands"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/terraform"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// OtherTools is what tools that are not followed install from the files of a tree: each of their files is unseen. No entry point
// leads to them, and the cluster gets what they install all the same. So it does with files that commands apply, and that nothing else has
// read; of these, kustomizations are built that changed files, named from the root, may be part of.
func OtherTools(ctx context.Context, t *repository.Tree, changed []string, o Options) (*delivery.Cluster, error) {
	s := newScan(t, o)
	for _, name := range changed {
		s.changed = append(s.changed, filepath.Join(t.Root, filepath.FromSlash(name)))
	}
	return s.cluster, s.walk(ctx, func(string) error { return nil })
}

// walk visits the files of a tree, and looks for tools that are not followed in them, and in those of hidden folders: pipelines have
// their files there.
func (s *scan) walk(ctx context.Context, visit func(file string) error) error {
	err := s.tree.Each(s.tree.Dir, detect.IsNotApplied, func(file string) error {
		if err := s.otherTools(ctx, s.tree.Dir, file); err != nil {
			return err
		}
		return visit(file)
	})
	entries, _ := os.ReadDir(s.tree.Dir) // none if it is a file
	for _, entry := range entries {
		if hidden := filepath.Join(s.tree.Dir, entry.Name()); err == nil && entry.IsDir() && detect.IsHidden(entry.Name()) && !detect.IsOfPrograms(entry.Name()) {
			err = s.tree.Each(hidden, detect.IsOfPrograms, func(file string) error { return s.otherTools(ctx, hidden, file) })
		}
	}
	for _, path := range slices.Compact(slices.Sorted(slices.Values(s.applied))) {
		err = cmp.Or(err, s.applies(ctx, path))
	}
	return err
}

// otherTool is a tool that is not followed, and what it installs from.
type otherTool struct {
	// named are its files, and holds is what is in those of them that install something; nil for all.
	named, holds *regexp.Regexp
	// words are some of which stands in each such file, to be looked for first; all files of a repository may be named so.
	words []string
	// only: what holds finds decides, and not the whole file. project: the folder decides, and any file in it may hold it.
	only, project bool
	// terraform: blocks decide, and values are given in other files, too. So they are with variables.
	terraform, variables bool
}

var others = []otherTool{
	// Helmfile, Rancher's Fleet, vendir, kluctl, Skaffold, DevSpace, Garden, Zarf, Porter, Helmwave, the charts of Tanka, and the libraries of Jsonnet.
	{named: regexp.MustCompile(`(?:/helmfile\.d/[^/]+|/helmfile[^/]*|/fleet|/vendir|/chartfile|/\.kluctl|/helm-chart|/skaffold|/devspace|/garden|/zarf|/porter|/helmwave)\.ya?ml(?:\.gotmpl)?$|/jsonnetfile(?:\.lock)?\.json$`)},
	// Terraform, in both of its notations; other files of it are about clouds, but for those that give values to variables.
	{named: regexp.MustCompile(`\.(?:tf|tofu)(?:\.json)?$`), terraform: true, holds: regexp.MustCompile(`\b(?:helm_release|kubernetes_manifest|kubectl_manifest|kustomization_resource|argocd_application|aws_eks_addon|azurerm_kubernetes_cluster_extension|chart_version)\b|\bsource\s*=\s*"[^"\n]*(?:/(?:kubernetes|helm|kubectl)\b|addons|argo-?cd|flux|cert-manager|crds?\b)`)},
	// Helmsman.
	{named: detect.YAML, words: []string{"helmRepos"}, holds: regexp.MustCompile(`(?m)^helmRepos\s*:`)},
	// Ansible.
	{named: detect.YAML, words: []string{"kubernetes.core.", "community.kubernetes.", "redhat.openshift."}, holds: regexp.MustCompile(`\b(?:kubernetes\.core|community\.kubernetes|redhat\.openshift)\.(?:k8s|helm)\w*["']?\s*:`), variables: true},
	// Talos and RKE, which apply them when a cluster begins.
	{named: detect.YAML, words: []string{"inlineManifests", "extraManifests", "addons_include"}, holds: regexp.MustCompile(`\b(?:inlineManifests|extraManifests|addons_include)["']?\s*:`)},
	// Timoni.
	{named: regexp.MustCompile(`\.cue$`), holds: regexp.MustCompile(`(?s)@timoni\(|\bbundle:.*\binstances:`)},
	// Pulumi, whose programs are not read: their hashes stand for them.
	{named: regexp.MustCompile(`/Pulumi\.ya?ml$`), holds: regexp.MustCompile(`(?i)pulumi[-_./]kubernetes|\bkubernetes:(?:helm|yaml|kustomize|apiextensions)`), project: true},
	// cdk8s, likewise.
	{named: regexp.MustCompile(`/cdk8s\.ya?ml$`), project: true},
	// What comes with a cluster of eksctl, kops or k0sctl.
	{named: detect.YAML, words: []string{"eksctl.io/", "kops.k8s.io/", "kind: Addons", "k0sctl.k0sproject.io/"}, holds: regexp.MustCompile(`(?m)^addons:[^\n]*(?:\n[ -][^\n]*)*|^  addons:[^\n]*(?:\n  [ -][^\n]*)*|^\s+extensions:[^\n]*(?:\n\s[^\n]*)*`), only: true},
	// Kubernetes itself, with what it brings, downloaded by Ansible or a cloud's configuration.
	{named: detect.YAML, words: []string{"k3s-io/k3s/releases", "rancher/rke2/releases", "k0sproject/k0s/releases"}, holds: regexp.MustCompile(`https?://\S*(?:k3s-io/k3s|rancher/rke2|k0sproject/k0s)/releases/[^\n]*`), only: true},
	// What Tilt installs.
	{named: regexp.MustCompile(`/Tiltfile$`), holds: regexp.MustCompile(`\b(?:helm_remote|helm_resource|helm|k8s_yaml)\([^)]*`), only: true},
}

// otherTools notes a file that such tools install from, and the files that commands in it apply. It is read once, whichever of them may
// own it.
func (s *scan) otherTools(ctx context.Context, below, file string) error {
	at := filepath.ToSlash(file)
	mine := slices.DeleteFunc(slices.Clone(others), func(tool otherTool) bool { return !tool.named.MatchString(at) })
	hasCommands := commands.MayBeIn(at)
	if len(mine) == 0 && !hasCommands || detect.ForReading(below, file) || ctx.Err() != nil {
		return ctx.Err()
	}
	content, err := render.ReadRegular(file)
	if pointer := (*render.PointerError)(nil); errors.As(err, &pointer) {
		return s.pointer(file, pointer)
	}
	if err != nil {
		return err
	}
	mine = slices.DeleteFunc(mine, func(tool otherTool) bool { return !tool.mayBeIn(content) })
	about := ""
	if len(mine) > 0 {
		text := detect.WithoutComments(string(content))
		for _, tool := range mine {
			about += s.decides(tool, file, text)
		}
	}
	whole := content
	if hasCommands && strings.HasSuffix(at, ".py") {
		whole = s.withModules(file, content)
	}
	if hasCommands && commands.MayRun(whole) || detect.YAML.MatchString(at) && bytes.Contains(content, []byte("crd")) {
		found := commands.In(file, whole)
		if !commands.MayRun(content) && reflect.DeepEqual(found, commands.In(file, whole[len(content):])) {
			found = commands.Found{} // they are those of the modules alone
		}
		if found.About != "" {
			about += found.About + s.elsewhere(file, found.About, found.Open)
		}
		s.applied = append(s.applied, s.namedIn(file, found.Applied)...)
	}
	if about != "" {
		s.tree.Reads.File(file)
		s.hidden(file, []byte(about), "a tool that is not followed installs what it names")
	}
	return nil
}

// mayBeIn reports whether a tool may own a file, by the words in it.
func (tool otherTool) mayBeIn(content []byte) bool {
	return len(tool.words) == 0 || slices.ContainsFunc(tool.words, func(word string) bool { return bytes.Contains(content, []byte(word)) })
}

// decides stands for what decides about what a tool installs from a file; empty if it installs nothing.
func (s *scan) decides(tool otherTool, file, text string) string {
	if tool.project {
		text = ""
		for _, beside := range filesOfProject(filepath.Dir(file)) {
			if read, err := render.ReadRegular(beside); err == nil && filepath.Dir(beside) == filepath.Dir(file) {
				text += string(read)
			}
		}
	}
	if !tool.only && tool.holds != nil && !tool.holds.MatchString(text) {
		return ""
	}
	switch {
	case tool.project:
		return s.tree.Sum(filesOfProject(filepath.Dir(file))...)
	case tool.only:
		found := tool.holds.FindAllString(text, -1)
		if len(found) == 0 {
			return ""
		}
		given, open := commands.Definitions(text, found)
		given = strings.Join(found, "\n") + given
		return given + s.elsewhere(file, given, open)
	case tool.terraform:
		if text = terraform.BlocksWith(tool.holds, text); text == "" {
			return ""
		}
		text += terraform.Values(text, s.tree.Texts(terraform.Named), s.tree.Reads.File)
	}
	if tool.variables {
		_, open := commands.Definitions(text, []string{text})
		text += s.elsewhere(file, text, open)
	}
	return text + s.tree.Sum(s.namedIn(file, text)...)
}

// filesOfProject are those of a program in a folder: not the hidden ones, and not what is for reading.
func filesOfProject(dir string) []string {
	return slices.DeleteFunc(files.In(dir), func(file string) bool {
		return detect.ForReading(dir, file) || strings.HasPrefix(filepath.Base(file), ".") || filepath.Ext(file) == ".md"
	})
}

var (
	// word is what may be the path of a file.
	word = regexp.MustCompile(`[\w./-]+`)
	// ofKey is a key of YAML, which is no path, although there may be a folder of its name.
	ofKey = regexp.MustCompile(`(?m)^([ \t]*(?:-[ \t]+)*)["']?\w+["']?:([ \t]|$)`)
	// ofName is the same of Terraform, with what refers to such a name.
	ofName = regexp.MustCompile(`(?m)^[ \t]*\w+[ \t]*=|\b(?:local|var|module)\.\w+`)
)

// namedIn are all files and folders of the repository that a text in a file names, as seen from its folder or from the root.
func (s *scan) namedIn(file, text string) (named []string) {
	if detect.YAML.MatchString("/" + filepath.Base(file)) {
		text = ofKey.ReplaceAllString(text, "$1:$2")
	} else if terraform.Named.MatchString(file) {
		text = ofName.ReplaceAllString(text, "=")
	}
	for _, name := range word.FindAllString(text, -1) {
		for _, dir := range []string{filepath.Dir(file), s.tree.Root} {
			at := filepath.Join(dir, filepath.FromSlash(name))
			if _, err := os.Stat(at); err == nil && files.Inside(at, s.tree.Root) && !files.Inside(file, at) {
				named = append(named, at)
			}
		}
	}
	return named
}

// packed are files that are no manifests by their names, and become some in a command.
var packed = regexp.MustCompile(`\.(?:gz|xz|bz2|zst|tgz|tar|zip|sh|bash|py|rb|js|ts|txt)$`)

// applies adds the CRDs of a file or a folder that a command applies, as far as nothing has read it. A kustomization counts if a changed file
// may be part of it.
func (s *scan) applies(ctx context.Context, path string) error {
	if kustomization := render.KustomizationIn(path); kustomization != "" {
		if !s.tree.Reads.Has(kustomization) && (len(s.changed) == 0 || slices.ContainsFunc(render.Local(path, s.tree.Root), touching(s.tree, s.changed).touch)) {
			s.addKustomized(path, kustomization)
		}
		return nil
	}
	visit := func(file string) error {
		switch {
		case s.tree.Reads.Has(file):
		case detect.IsManifest(filepath.Base(file)):
			return s.file(ctx, file)
		case packed.MatchString(file):
			s.tree.Reads.File(file)
			s.hidden(file, []byte(s.tree.Sum(file)), "a command applies what it holds or prints")
		}
		return nil
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return cmp.Or(err, visit(path))
	}
	return s.tree.Each(path+string(filepath.Separator)+".", detect.IsOfPrograms, visit)
}

// addKustomized adds the CRDs that a kustomization builds, if it can be built.
func (s *scan) addKustomized(dir, file string) {
	if built := s.build(dir, file); built != nil {
		for _, object := range built.Objects {
			object.At = func(...string) finding.Place { return finding.Place{File: s.tree.Relative(file)} }
			for _, crd := range s.crdsOf(s.tree.Relative(dir), object) {
				s.add(dir, crd)
			}
		}
	}
}
