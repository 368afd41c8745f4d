package desired

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
)

// Wired follows everything of Flux and Argo CD that lies in the files of a tree, for a tree that cannot be built as a whole.
// A file that is no manifest, such as values for a chart, must not hide what an Application beside it brings. A file that
// cannot be read is unseen. It is empty if there is nothing of either tool.
func Wired(ctx context.Context, t *repository.Tree) (*delivery.Cluster, error) {
	f := &follower{tree: t, seen: map[string]bool{}, cluster: &delivery.Cluster{Name: t.Name}}
	found, unread := &delivery.Unit{Name: t.Name}, &everywhere{follower: *f, cluster: &delivery.Cluster{}}
	err := eachFile(t, t.Dir, func(string) bool { return false }, func(file string) error {
		if !isManifest(filepath.Base(file)) || ForReading(t.Dir, file) {
			return nil
		}
		t.Reads.File(file)
		content, err := render.ReadRegular(file)
		if pointer := (*render.PointerError)(nil); errors.As(err, &pointer) {
			return nil // the CRDs in files are looked for elsewhere, and reported there
		}
		if err != nil || !ofTools.Match(content) && !ofInstallers.Match(content) {
			return err
		}
		read, failed := render.Stream(file, bytes.NewReader(content))
		switch {
		case failed != nil && !mayDeliver(content):
			return nil
		case failed != nil && bytes.Contains(content, []byte("{{")):
			unread.hidden(file, content, "it is a template of what Flux or Argo CD applies")
			return nil
		case failed != nil:
			unread.hidden(file, content, "it is about what Flux or Argo CD applies, and fails: "+failureOf(f.inTree(failed)))
			return nil
		}
		found.Objects = append(found.Objects, placed(read, f.inRepository)...)
		return nil
	})
	if err != nil || len(found.Objects)+len(unread.cluster.Unseen)+len(t.Submodules) == 0 {
		return &delivery.Cluster{}, err
	}
	f.add(found)
	err = f.follow(ctx)
	f.cluster.Unseen = append(f.cluster.Unseen, unread.cluster.Unseen...)
	return f.cluster, err
}

// ofTools finds what may be an object of Flux or Argo CD, in YAML, JSON or a template of either.
var ofTools = regexp.MustCompile(`apiVersion` + isValue + `(argoproj\.io|[a-z.]+\.fluxcd\.io|fluxcd\.controlplane\.io)/`)

// ofInstallers finds what may be an object of those that install something. Left out are those of the Operator Lifecycle Manager, which
// every bundle has, and webhooks, which every operator has.
var ofInstallers = func() *regexp.Regexp {
	var groups []string
	for group := range installers {
		if group != "operators.coreos.com" && group != "admissionregistration.k8s.io" {
			groups = append(groups, regexp.QuoteMeta(group))
		}
	}
	slices.Sort(groups)
	return regexp.MustCompile(`apiVersion` + isValue + `(` + strings.Join(groups, "|") + `)/`)
}()

// mayDeliver reports whether what cannot be read may make Flux or Argo CD apply something. Argo's projects have many kinds that
// do not, such as Rollouts and Workflows.
func mayDeliver(content []byte) bool {
	return ofFlux.Match(content) || ofArgoCD.Match(content) || declares.Match(content)
}

var (
	ofFlux = regexp.MustCompile(`fluxcd\.(io|controlplane\.io)/`)
	// ofArgoCD finds the kinds of Argo CD, and what may become one: a kind that a template fills in.
	ofArgoCD = regexp.MustCompile(`kind` + isValue + `(Application|\w*List\b|\w*[^\s\w"',}])`)
)

// isManifest reports by its name whether a file may hold manifests, or be a template of some.
func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json", ".tpl"}, filepath.Ext(name)) || templateName.MatchString(name)
}

// templateName is that of a template in another language, such as crds.yaml.j2, and not of a file that was switched off (.bak).
var templateName = regexp.MustCompile(`(?i)\.ya?ml\.(?:j2|jinja2?|[a-z]*tmpl|tpl|template|erb|hbs|mustache|ejs|tera|liquid|njk|in|envsubst|enc|dec)$`)
