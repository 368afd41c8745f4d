package preview

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/charts/store"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
)

// chartStore is where charts come from that are not in the repository. In CI only hosts are asked that the base names: the
// head may be a stranger's, who must not choose whom a pipeline asks, nor who gets its credentials.
func (p *command) chartStore(base side) (*store.Store, error) {
	o := store.Options{Folders: p.charts, Fetch: !p.offline}
	for _, folder := range p.charts {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--charts %s is no folder", folder)
		}
	}
	if inCI() || len(p.allowHosts) > 0 {
		o.Hosts = func() []string {
			if base.tree == nil {
				return p.allowHosts
			}
			return append(hostsIn(base.tree), p.allowHosts...)
		}
	}
	return store.New(o), nil
}

// inCI tells whether a pipeline runs this. GitHub, GitLab and most others set the variable.
func inCI() bool {
	value := os.Getenv("CI")
	return value != "" && !strings.EqualFold(value, "false") && value != "0"
}

// address finds where a manifest, or a chart, takes something from: url of Flux's sources, repoURL of Argo CD, repository of
// a chart's dependencies.
var address = regexp.MustCompile(`\b(?:url|repoURL|repository)["']?:\s*["']?((?:(?:https?|oci)://)?[^\s"'#,}]+)`)

// hostsIn are the hosts that a repository takes something from.
func hostsIn(t *repository.Tree) []string {
	var hosts []string
	_ = filepath.WalkDir(t.Root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // a host that is not found here is not asked
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case !entry.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)):
			return nil
		}
		content, err := render.ReadRegular(file)
		if err != nil || !bytes.Contains(content, []byte("url")) && !bytes.Contains(content, []byte("repo")) {
			return nil //nolint:nilerr // as above
		}
		for _, found := range address.FindAllSubmatch(content, -1) {
			if host := hostOf(string(found[1])); host != "" && !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
		return nil
	})
	return hosts
}

// hostOf is the host of an address; Argo CD writes registries without a scheme.
func hostOf(text string) string {
	if !strings.Contains(text, "://") {
		text = "oci://" + text
	}
	at, err := url.Parse(text)
	if err != nil || !strings.ContainsAny(at.Host, ".:") {
		return ""
	}
	return at.Host
}
