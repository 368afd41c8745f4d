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

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/moult-dev/moult/clusters/charts/store"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
)

// chartStore is where charts come from that are not in the repository.
func (p *command) chartStore(base side, policy *network.Policy) (*store.Store, error) {
	var folders []string
	for _, folder := range p.charts {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--charts %s is no folder", folder)
		}
		folders = append(folders, p.trustedFolder(base, folder))
	}
	return store.New(store.Options{Folders: folders, Fetch: !p.offline, Network: policy}), nil
}

// network says whom to ask. In CI only hosts are asked that the base names, or that are allowed.
func (p *command) network(base side) *network.Policy {
	switch {
	case p.offline:
		return network.Offline()
	case !inCI() && len(p.allowHosts) == 0:
		return nil
	}
	return network.Only(func() []string {
		var hosts []string
		if base.tree != nil {
			hosts = hostsIn(base.tree)
		}
		for _, host := range p.allowHosts {
			hosts = append(hosts, host, network.Plain+host)
		}
		return hosts
	})
}

// inCI reports whether a pipeline runs this. GitHub, GitLab and most others set the variable.
func inCI() bool {
	value := os.Getenv("CI")
	return value != "" && !strings.EqualFold(value, "false") && value != "0"
}

var (
	// address finds where a manifest, or a chart, takes something from: url of Flux's sources, repoURL of Argo CD, repository
	// of a chart's dependencies.
	address = regexp.MustCompile(`\b(?:url|repoURL|repository)["']?:\s*["']?((?:(?:https?|oci)://)?[^\s"'#,}]+)`)
	// remoteFile is what a kustomization takes over HTTP.
	remoteFile = regexp.MustCompile(`(https?://)([^\s"'/]+)`)
)

// hostsIn are the hosts that a repository takes something from.
func hostsIn(t *repository.Tree) []string {
	var hosts []string
	_ = filepath.WalkDir(t.Root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // a host that is not found here is not asked
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case !entry.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) && filepath.Base(file) != "Kustomization":
			return nil
		}
		content, err := render.ReadRegular(file)
		if err == nil {
			hosts = append(hosts, hostsNamed(file, content)...)
		}
		return nil
	})
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// hostsNamed are those in one file.
func hostsNamed(file string, content []byte) (hosts []string) {
	if slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(file)) {
		hosts = render.RemoteHosts(content)
		for _, found := range remoteFile.FindAllSubmatch(content, -1) {
			hosts = append(hosts, string(found[2]))
			if string(found[1]) == network.Plain {
				hosts = append(hosts, network.Plain+string(found[2]))
			}
		}
	}
	if !bytes.Contains(content, []byte("url")) && !bytes.Contains(content, []byte("repo")) {
		return hosts
	}
	for _, found := range address.FindAllSubmatch(content, -1) {
		text := string(found[1])
		if host, _ := network.Remote(text); host != "" {
			hosts = append(hosts, host) // git@host:path
		}
		host := hostOf(text)
		if host == "" {
			continue
		}
		hosts = append(hosts, host)
		if strings.HasPrefix(text, network.Plain) || strings.HasPrefix(text, "oci://") && bytes.Contains(content, []byte("insecure: true")) {
			hosts = append(hosts, network.Plain+host)
		}
	}
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
