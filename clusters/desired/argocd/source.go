package argocd

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/words"
)

// Elsewhere is the repository of a source, if that is not the one that the Application itself was found in. An
// Application is found in the repository that the Application around it is taken from. Nothing names the repository of an entry point. A
// registry is no repository of Git.
func Elsewhere(u *delivery.Unit, source *delivery.Object) string {
	url := source.Text("repoURL")
	if strings.HasPrefix(url, registry) {
		return url
	}
	for around := u.Parent; around != nil && url != "" && !strings.Contains(url, "{{"); around = around.Parent {
		if around.Tool != delivery.ArgoCD || around.Unseen != "" && len(around.Dirs) == 0 {
			continue
		}
		known := false
		for _, ours := range around.Sources {
			if of := ours.Settings.Text("repoURL"); of != "" {
				known = true
				if network.Normal(of) == network.Normal(url) {
					return ""
				}
			}
		}
		if known {
			return url
		}
	}
	return ""
}

// registry is what the address of an artifact begins with.
const registry = "oci://"

// IsArtifact reports whether a source is all of an artifact in a registry, as a rule a chart.
// https://argo-cd.readthedocs.io/en/stable/user-guide/oci/
func IsArtifact(source *delivery.Object) bool {
	return strings.HasPrefix(source.Text("repoURL"), registry) && path.Clean(source.Text("path")) == "."
}

// IsPin guesses whether a revision stays where it is: a version or a hash, not a branch.
func IsPin(revision string) bool {
	if revision == "" || revision == "HEAD" {
		return false
	}
	if len(revision) == 40 && strings.Trim(revision, "0123456789abcdef") == "" {
		return true
	}
	number := strings.TrimPrefix(strings.TrimPrefix(revision, "refs/tags/"), "v")
	return number != "" && number[0] >= '0' && number[0] <= '9' && strings.Contains(number, ".") || strings.HasPrefix(revision, "refs/tags/")
}

// TagOrCommit is a targetRevision that stays where it is; empty for all others.
// https://argo-cd.readthedocs.io/en/stable/user-guide/tracking_strategies/#git
func TagOrCommit(revision string) string {
	if !IsPin(revision) || rangeOfVersions.MatchString(revision) {
		return ""
	}
	return revision
}

// rangeOfVersions is what a semantic version has that stands for several.
var rangeOfVersions = regexp.MustCompile(`[*<>~^=|, ]|\.[xX](?:\.|$)`)

// Overrides are the files beside what an Application applies that change its source.
// https://argo-cd.readthedocs.io/en/stable/user-guide/parameters/#store-overrides-in-git
func Overrides(u *delivery.Unit, dir string) []string {
	var found []string
	// Outside of Argo CD's own namespace, an Application is called by its namespace, too.
	for _, name := range []string{"", "-" + u.By.GetName(), "-" + u.By.GetNamespace() + "_" + u.By.GetName()} {
		name = ".argocd-source" + name + ".yaml"
		if files.Has(dir, name) {
			found = append(found, filepath.Join(dir, name))
		}
	}
	return found
}

// Type is how Argo CD builds a folder.
type Type string

// The types of a source.
const (
	OfKustomize Type = "kustomize"
	OfHelm      Type = "helm"
	OfDirectory Type = "directory"
)

// TypeOf is how a folder is built: by the type that the source has settings of, and else by what is in it. There a kustomization comes before
// a chart.
// https://github.com/argoproj/argo-cd/blob/v3.5.7/util/app/discovery/discovery.go (Discover)
func TypeOf(source *delivery.Object, dir string) Type {
	var set []Type
	for _, one := range []Type{OfKustomize, OfHelm, OfDirectory} {
		if !crdschema.IsEmpty(source.Field(string(one))) { // Argo CD stores an Application with settings that say nothing
			set = append(set, one)
		}
	}
	switch {
	case len(set) == 1 && (set[0] != OfKustomize || render.KustomizationIn(dir) != ""):
		return set[0]
	case render.KustomizationIn(dir) != "":
		return OfKustomize
	case files.HasChart(dir):
		return OfHelm
	}
	return OfDirectory
}

// ByJsonnet is what NotAsItLies says of a folder with programs.
const ByJsonnet = "it is rendered by jsonnet"

// NotAsItLies says why Argo CD builds something else than what is in a folder, empty if it does not.
func NotAsItLies(t *files.Tree, u *delivery.Unit, source *delivery.Object, at string) string {
	dir := t.Folder(at)
	if dir == "" {
		return ""
	}
	if files := Overrides(u, dir); len(files) > 0 {
		return "its source is overridden by " + t.Relative(files[0])
	}
	if TypeOf(source, dir) != OfDirectory {
		return ""
	}
	if options, _ := source.Field("directory", "jsonnet").(map[string]any); len(options) > 0 || holdsJsonnet(dir, source.True("directory", "recurse")) {
		return ByJsonnet
	}
	return ""
}

func holdsJsonnet(dir string, recurse bool) bool {
	found, whole := false, itself(dir)
	_ = filepath.WalkDir(whole, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // what cannot be read is not there
		case entry.IsDir() && path != whole && !recurse:
			return filepath.SkipDir
		case !entry.IsDir() && filepath.Ext(path) == ".jsonnet":
			found = true
			return filepath.SkipAll
		}
		return nil
	})
	return found
}

// itself is a folder, also if that is a symbolic link: filepath.WalkDir does not follow one.
func itself(dir string) string { return dir + string(filepath.Separator) + "." }

// Folder builds a folder as Argo CD does, by its kustomization or as a directory.
func Folder(source *delivery.Object, dir string, o render.Options, build func(render.Options) (*render.Rendering, error)) (*render.Rendering, error) {
	if TypeOf(source, dir) != OfKustomize {
		return render.Directory(dir, directoryOptions(source, o))
	}
	o.Namespace = source.Text("kustomize", "namespace")
	o.NamePrefix, o.NameSuffix = source.Text("kustomize", "namePrefix"), source.Text("kustomize", "nameSuffix")
	o.Annotations = source.TextMap("kustomize", "commonAnnotations")
	return build(o)
}

func directoryOptions(source *delivery.Object, o render.Options) render.DirectoryOptions {
	return render.DirectoryOptions{
		Recurse: source.True("directory", "recurse"), Root: o.Root, Note: o.Note,
		Include: source.Text("directory", "include"), Exclude: source.Text("directory", "exclude"),
	}
}

// GeneratePaths are the files and folders from the root of the repository that an Application says it is generated from.
// There are none if it does not say, or says it by patterns or paths that lead out.
// https://argo-cd.readthedocs.io/en/stable/operator-manual/high_availability/#manifest-paths-annotation
func GeneratePaths(by *delivery.Object) (paths []string) {
	for _, item := range strings.Split(by.GetAnnotations()["argocd.argoproj.io/manifest-generate-paths"], ";") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		of := []string{strings.TrimPrefix(item, "/")}
		if of[0] == item {
			of = words.Of(delivery.SourcesOf(by), func(s delivery.Source) string { return path.Join(s.Path, item) })
		}
		for _, one := range of {
			if one = path.Clean(one); strings.ContainsAny(one, `*?[{\`) || !filepath.IsLocal(one) {
				return nil
			}
			paths = append(paths, one)
		}
	}
	return paths
}
