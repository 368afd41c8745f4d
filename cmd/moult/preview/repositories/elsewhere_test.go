package repositories

import (
	"slices"
	"strings"
	"testing"

	"github.com/moult-dev/moult/test/charttest"
	"github.com/moult-dev/moult/test/gittest"
)

// place is one version of what somebody else has: of a chart, or of a Git repository.
type place struct{ kind, name, version string }

// elsewhereIn takes out of sections what is not in the repository.
func elsewhereIn(sections []change) (found map[place]map[string]string, others []change) {
	found = map[place]map[string]string{}
	for _, c := range sections {
		parts := strings.Fields(c.path)
		if c.verb != "chart" && c.verb != "git" || len(parts) != 3 {
			others = append(others, c)
			continue
		}
		at := place{c.verb, parts[0], parts[1]}
		if found[at] == nil {
			found[at] = map[string]string{}
		}
		found[at][parts[2]] = c.content
	}
	return found, others
}

// served is a repository whose manifests name servers of this machine, with all that is elsewhere.
func (r repository) served(t *testing.T) repository {
	t.Helper()
	addresses := strings.NewReplacer(r.addresses(t)...)
	replaced := repository{name: r.name, modelledOn: r.modelledOn, start: state{}}
	for path, content := range r.start {
		replaced.start[path] = addresses.Replace(content)
	}
	for _, c := range r.commits {
		c.changes = slices.Clone(c.changes)
		for i := range c.changes {
			c.changes[i].content = addresses.Replace(c.changes[i].content)
		}
		replaced.commits = append(replaced.commits, c)
	}
	return replaced
}

// addresses starts the servers. They are pairs of what the corpus writes, and what it is.
func (r repository) addresses(t *testing.T) (pairs []string) {
	t.Helper()
	charts := map[string]map[string]charttest.Chart{}
	var repositories *gittest.Server
	for _, at := range sortedPlaces(r.elsewhere) {
		switch at.kind {
		case "chart":
			if charts[at.name] == nil {
				charts[at.name] = map[string]charttest.Chart{}
			}
			charts[at.name][at.version] = charttest.Of(at.name, at.version, r.elsewhere[at])
		case "git":
			if repositories == nil {
				repositories = gittest.New(t)
			}
			repositories.Commit(t, at.name, r.elsewhere[at], at.version)
			pairs = append(pairs, "${git:"+at.name+"}", repositories.Address(at.name))
		}
	}
	for name, versions := range charts {
		pairs = append(pairs,
			"${charts:"+name+"}", charttest.Repository(t, name, versions, nil).URL+"/charts",
			"${registry:"+name+"}", "oci"+strings.TrimPrefix(charttest.Registry(t, name, versions, nil).URL, "http")+"/charts")
	}
	return pairs
}

// sortedPlaces are in an order in which a repository gets its commits.
func sortedPlaces(of map[place]map[string]string) (all []place) {
	for at := range of {
		all = append(all, at)
	}
	slices.SortFunc(all, func(a, b place) int { return strings.Compare(a.kind+a.name+a.version, b.kind+b.name+b.version) })
	return all
}
