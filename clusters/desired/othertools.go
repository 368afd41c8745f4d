package desired

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
)

// OtherTools is what tools that are not followed install from the files of a tree: each of their files is unseen. No entry point
// leads to them, and the cluster gets what they install all the same.
func OtherTools(ctx context.Context, t *repository.Tree) (*delivery.Cluster, error) {
	e := &everywhere{follower: follower{tree: t}, cluster: &delivery.Cluster{Name: t.Name}}
	err := eachFile(t, t.Dir, isNotApplied, func(file string) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return e.otherTools(file)
	})
	return e.cluster, err
}

// otherTool is a tool that is not followed, and what it installs from.
type otherTool struct {
	// named are its files, and holds is what is in those of them that install something; nil for all.
	named, holds *regexp.Regexp
	// words are some of which stands in each such file, to be looked for first; all files of a repository may be named so.
	words []string
	// only: what holds finds decides, and not the whole file. project: the folder decides, and any file in it may hold it.
	only, project bool
	// terraform: values are given in other files, too.
	terraform bool
}

var others = []otherTool{
	// Helmfile, Rancher's Fleet, vendir, kluctl, Skaffold, Zarf, Porter, Helmwave, the charts of Tanka, and the libraries of Jsonnet.
	{named: regexp.MustCompile(`(?:/helmfile\.d/[^/]+|/helmfile[^/]*|/fleet|/vendir|/chartfile|/\.kluctl|/helm-chart|/skaffold|/zarf|/porter|/helmwave)\.ya?ml(?:\.gotmpl)?$|/jsonnetfile(?:\.lock)?\.json$`)},
	// Terraform, in both of its notations; other files of it are about clouds, but for those that give values to variables.
	{named: regexp.MustCompile(`\.(?:tf|tofu)(?:\.json)?$`), terraform: true, holds: regexp.MustCompile(`\b(?:helm_release|kubernetes_manifest|kubectl_manifest|kustomization_resource|argocd_application|aws_eks_addon|azurerm_kubernetes_cluster_extension|chart_version)\b`)},
	// Helmsman.
	{named: ofYAML, words: []string{"helmRepos"}, holds: regexp.MustCompile(`(?m)^helmRepos\s*:`)},
	// Ansible.
	{named: ofYAML, words: []string{"kubernetes.core.", "community.kubernetes.", "redhat.openshift."}, holds: regexp.MustCompile(`\b(?:kubernetes\.core|community\.kubernetes|redhat\.openshift)\.(?:k8s|helm)\w*["']?\s*:`)},
	// Talos, which applies them when a cluster begins.
	{named: ofYAML, words: []string{"inlineManifests", "extraManifests"}, holds: regexp.MustCompile(`\b(?:inline|extra)Manifests["']?\s*:`)},
	// Timoni.
	{named: regexp.MustCompile(`\.cue$`), holds: regexp.MustCompile(`(?s)@timoni\(|\bbundle:.*\binstances:`)},
	// Pulumi, whose programs are not read: their hashes stand for them.
	{named: regexp.MustCompile(`/Pulumi\.ya?ml$`), holds: regexp.MustCompile(`(?i)pulumi[-_./]kubernetes|\bkubernetes:(?:helm|yaml|kustomize|apiextensions)`), project: true},
	// A command that applies what is at an address, or in a variable. Then one that changes or deletes CRDs, one that installs a chart, and
	// one of a tool that brings manifests of its own.
	{named: ofCommands, words: []string{"kubectl", "oc apply", "oc create", "oc replace"}, holds: applying, only: true},
	{named: ofCommands, words: []string{"kubectl", "oc delete", "oc patch"}, holds: regexp.MustCompile(`\b(?:kubectl|oc)\b` + goesOn + `\b(?:delete|patch|replace|edit)\b` + goesOn + `(?:[\s"']|\n\s*-\s["']?)(?:crds?|customresourcedefinitions?)(?:\.apiextensions\.k8s\.io)?["',]*(?:\s|/)` + restOfCommand), only: true},
	{named: ofCommands, words: []string{"helm"}, holds: regexp.MustCompile(`\bhelm\b` + goesOn + `\b(?:upgrade|install)\b` + goesOn + `(?:--version|--repo|oci://|https?://)` + restOfCommand), only: true},
	{named: ofCommands, words: installing, holds: regexp.MustCompile(`\b(?:` + strings.Join(installing, "|") + `)\b[^\n]{0,300}?\b(?:init|install|upgrade|deploy|bundle)\b[^\n]*(?:\d\.\d|https?://|oci://|\$)` + restOfCommand), only: true},
}

// otherTools notes a file that such tools install from. It is read once, whichever of them may own it.
func (e *everywhere) otherTools(file string) error {
	mine := slices.DeleteFunc(slices.Clone(others), func(tool otherTool) bool { return !tool.named.MatchString(filepath.ToSlash(file)) })
	if len(mine) == 0 || ForReading(e.tree.Dir, file) {
		return nil
	}
	content, err := render.ReadAsIs(file)
	if err != nil {
		return err
	}
	for _, tool := range mine {
		if about := e.decides(tool, file, content); about != "" {
			e.tree.Reads.File(file)
			e.hidden(file, []byte(about), "a tool that is not followed installs what it names")
		}
	}
	return nil
}

// mayBeIn reports whether a tool may own a file, by the words in it.
func (tool otherTool) mayBeIn(content []byte) bool {
	return len(tool.words) == 0 || slices.ContainsFunc(tool.words, func(word string) bool { return bytes.Contains(content, []byte(word)) })
}

// decides stands for what decides about what a tool installs from a file; empty if it installs nothing.
func (e *everywhere) decides(tool otherTool, file string, content []byte) string {
	if !tool.mayBeIn(content) {
		return ""
	}
	text := plainText(string(content))
	if tool.project {
		text = ""
		for _, beside := range filesIn(filepath.Dir(file)) {
			if read, err := render.ReadRegular(beside); err == nil && filepath.Dir(beside) == filepath.Dir(file) {
				text += string(read)
			}
		}
	}
	if tool.holds != nil && !tool.holds.MatchString(text) {
		return ""
	}
	switch {
	case tool.project:
		return e.sumOf(filepath.Dir(file))
	case tool.only:
		return commandsIn(tool, text)
	case tool.terraform:
		text += e.valuesOfTerraform(text)
	}
	return text + e.namedIn(file, content)
}

// word is what may be the path of a file.
var word = regexp.MustCompile(`[\w./-]+`)

// namedIn stands for all files and folders of the repository that a file names, as seen from its folder or from the root.
func (e *everywhere) namedIn(file string, content []byte) string {
	var named []string
	for _, name := range word.FindAllString(string(content), -1) {
		for _, dir := range []string{filepath.Dir(file), e.tree.Root} {
			at := filepath.Join(dir, filepath.FromSlash(name))
			if _, err := os.Stat(at); err == nil && inside(at, e.tree.Root) && !inside(file, at) {
				named = append(named, at)
			}
		}
	}
	return e.sumOf(named...)
}
