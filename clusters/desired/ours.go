package desired

import (
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/policies/delivery"
)

// isAnothers reports whether an Application that has the path of the entry point applies the same path of another repository. It does
// not name the remote origin then, and another Application does. Their repository is remembered as another. What the manifests name
// most is no evidence, since a pull request decides about that.
func (f *follower) isAnothers(self *delivery.Object, all []*delivery.Object) bool {
	url := addressOf(delivery.SourcesOf(self)[0])
	if delivery.ToolOf(self) != delivery.ArgoCD || !f.isOther(url, all) {
		return false
	}
	f.anothers[url] = true
	return true
}

// isOther reports whether an address is that of another repository: it is not the remote origin, which one of some Applications is of.
func (f *follower) isOther(url string, all []*delivery.Object) bool {
	origin := network.Normal(f.tree.Origin())
	return origin != "" && url != "" && !strings.Contains(url, "{{") && url != origin && slices.ContainsFunc(all, func(other *delivery.Object) bool {
		return delivery.ToolOf(other) == delivery.ArgoCD && slices.ContainsFunc(delivery.SourcesOf(other), func(s delivery.Source) bool { return addressOf(s) == origin })
	})
}

// addressOf is the repository of an Application's source, written as all of them are.
func addressOf(source delivery.Source) string {
	return network.Normal(source.Settings.Text("repoURL"))
}
