package repositories

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// pull is a commit with the states that it lies between.
type pull struct{ base, head state }

func (p pull) clone() pull { return pull{maps.Clone(p.base), maps.Clone(p.head)} }

// isDelivered reports whether something in the repository says what is applied.
func (p pull) isDelivered() bool {
	for _, s := range []state{p.base, p.head} {
		for _, content := range s {
			if strings.Contains(content, "kustomize.toolkit.fluxcd.io") || strings.Contains(content, "argoproj.io") {
				return true
			}
		}
	}
	return false
}

// mutation changes how a repository looks, and not what it says.
type mutation func(*rapid.T, pull)

// mutations are all of them, by what they do.
var mutations = map[string]mutation{
	"YAML that is no manifest is added": addNoise,
	"files begin with a comment":        onFiles(func(content string) string { return "# a comment\n" + content }),
	"lines end as on Windows":           onFiles(func(content string) string { return strings.ReplaceAll(content, "\n", "\r\n") }),
	"documents change places":           onFiles(reversed),
	"a file is split":                   split,
	"two files are merged":              merge,
	"a file is called .yml":             renameFile,
	"a file moves to another folder":    moveFile,
	"a folder is called otherwise":      renameFolder,
}

var noise = map[string]string{
	"metadata.yaml":     "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries: []\n",
	"catalog-info.yaml": "apiVersion: backstage.io/v1alpha1\nkind: Component\nmetadata: {name: it}\nspec: {type: service}\n",
	".chainsaw.yaml":    "apiVersion: chainsaw.kyverno.io/v1alpha2\nkind: Configuration\nmetadata: {name: it}\nspec: {}\n",
	"mkdocs.yml":        "site_name: it\nextra: !!python/name:x\n",
	"Taskfile.yaml":     "version: \"3\"\ntasks: {}\n",
	"numbers.yaml":      "- 1\n- 2\n",
	"template.yaml":     "{{- if .Values.x }}\nkind: X\n{{- end }}\n",
	"broken.yaml":       "a: b: c\n",
	"empty.yaml":        "# nothing\n",
	"package.json":      "{\"name\": \"it\"}\n",
}

// addNoise adds such a file to the head, or to both, at the root or in a folder that is there.
func addNoise(t *rapid.T, p pull) {
	folders := []string{"."}
	for _, file := range p.head.paths() {
		folders = append(folders, path.Dir(file))
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(noise))).Draw(t, "noise")
	file := path.Join(rapid.SampledFrom(folders).Draw(t, "in"), name)
	for _, s := range sidesOf(t, p) {
		if s[file] == "" {
			s[file] = noise[name]
		}
	}
}

// sidesOf are the head, or both sides.
func sidesOf(t *rapid.T, p pull) []state {
	if rapid.Bool().Draw(t, "on both sides") {
		return []state{p.base, p.head}
	}
	return []state{p.head}
}

// onFiles changes the content of all plain manifests.
func onFiles(change func(string) string) mutation {
	return func(t *rapid.T, p pull) {
		for _, s := range sidesOf(t, p) {
			for file, content := range s {
				if isPlain(file, content) {
					s[file] = change(content)
				}
			}
		}
	}
}

// isPlain reports whether a file is YAML, and no template.
func isPlain(file, content string) bool {
	return (strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml")) && !strings.Contains(content, "{{")
}

func documents(content string) []string {
	var found []string
	for _, document := range strings.Split("\n"+content, "\n---\n") {
		if strings.TrimSpace(document) != "" {
			found = append(found, strings.TrimSpace(document)+"\n")
		}
	}
	return found
}

func reversed(content string) string {
	all := documents(content)
	if strings.Contains(content, "\r") {
		return content
	}
	slices.Reverse(all)
	return strings.Join(all, "---\n")
}

// free are the files with manifests whose names are free: no other file of either side mentions them, and no tool
// knows them by their name.
func free(p pull) []string {
	var found []string
	for _, file := range p.head.paths() {
		content, name := p.head[file], path.Base(file)
		known := slices.Contains([]string{"kustomization.yaml", "Chart.yaml", "values.yaml"}, name) || strings.Contains(file, "/files/") || strings.Contains(file, "/templates/")
		if !known && isPlain(file, content) && strings.Contains(content, "apiVersion: ") && !strings.Contains(content, "\r") && !mentioned(p.base, name) && !mentioned(p.head, name) {
			found = append(found, file)
		}
	}
	return found
}

func mentioned(s state, name string) bool {
	for _, content := range s {
		if strings.Contains(content, name) {
			return true
		}
	}
	return false
}

// onFree draws one of those files.
func onFree(t *rapid.T, p pull, change func(file string)) {
	if files := free(p); len(files) > 0 {
		change(rapid.SampledFrom(files).Draw(t, "file"))
	}
}

func split(t *rapid.T, p pull) {
	onFree(t, p, func(file string) {
		for i, document := range documents(p.head[file])[1:] {
			p.head[strings.TrimSuffix(file, path.Ext(file))+fmt.Sprintf("-%d.yaml", i)] = document
		}
		p.head[file] = documents(p.head[file])[0]
	})
}

func merge(t *rapid.T, p pull) {
	onFree(t, p, func(file string) {
		for _, other := range free(p) {
			if other != file && path.Dir(other) == path.Dir(file) {
				p.head[file] += "---\n" + p.head[other]
				delete(p.head, other)
				return
			}
		}
	})
}

func renameFile(t *rapid.T, p pull) {
	onFree(t, p, func(file string) {
		p.move(file, strings.TrimSuffix(file, path.Ext(file))+".yml")
	})
}

// moveFile takes a file to another folder, if nothing says which folders are applied.
func moveFile(t *rapid.T, p pull) {
	if p.isDelivered() {
		return
	}
	onFree(t, p, func(file string) {
		p.move(file, path.Join(rapid.SampledFrom([]string{"moved", "config/moved", "a/b/c", "."}).Draw(t, "to"), path.Base(file)))
	})
}

// move moves a file, but onto no other: that would be lost, and perhaps what the commit is about.
func (p pull) move(file, to string) {
	if _, there := p.head[to]; there {
		return
	}
	p.head[to] = p.head[file]
	delete(p.head, file)
}

// renameFolder gives a folder at the root another name, and to all that names it. It does so in the head, or in both if
// something says what is applied, since the cluster then has the folder's name.
func renameFolder(t *rapid.T, p pull) {
	var folders []string
	for _, file := range p.head.paths() {
		if folder, _, below := strings.Cut(file, "/"); below && !strings.HasPrefix(folder, ".") {
			folders = append(folders, folder)
		}
	}
	if len(folders) == 0 {
		return
	}
	folder := rapid.SampledFrom(folders).Draw(t, "folder")
	sides := []state{p.head}
	if p.isDelivered() {
		sides = append(sides, p.base)
	}
	name := regexp.MustCompile(`(?m)(^|[^\w-])` + regexp.QuoteMeta(folder) + `/`)
	whole := regexp.MustCompile(`(?m)(path: (?:\./)?)` + regexp.QuoteMeta(folder) + `([},\r]|$)`)
	for _, s := range sides {
		for _, file := range s.paths() {
			content := whole.ReplaceAllString(name.ReplaceAllString(s[file], "${1}x-"+folder+"/"), "${1}x-"+folder+"${2}")
			rest, below := strings.CutPrefix(file, folder+"/")
			if below {
				delete(s, file)
				file = "x-" + folder + "/" + rest
			}
			s[file] = content
		}
	}
}
