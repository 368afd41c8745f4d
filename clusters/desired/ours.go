package desired

import (
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/policies/delivery"
)

// isAnothers reports whether an Application that has the path of the entry point applies the same path of another repository. One is
// another's if it is not the remote origin, and that is, or if more of the other Applications name one of which the folders are here.
// Their repository is then remembered as another.
func (f *follower) isAnothers(self *delivery.Object, all []*delivery.Object) bool {
	if delivery.ToolOf(self) != delivery.ArgoCD {
		return false
	}
	origin, url := network.Normal(f.tree.Origin()), addressOf(delivery.SourcesOf(self)[0])
	if url == "" || url == origin {
		return false
	}
	named := map[string]int{}
	for _, object := range all {
		for _, source := range delivery.SourcesOf(object) {
			dir := f.tree.Folder(source.Path)
			if delivery.ToolOf(object) == delivery.ArgoCD && source.Path != "" && dir != "" && dir != f.tree.Root {
				named[addressOf(source)]++
			}
		}
	}
	for other, times := range named {
		if other != "" && (other == origin || times > named[url]) {
			if f.anothers == nil {
				f.anothers = map[string]bool{}
			}
			f.anothers[url] = true
			return true
		}
	}
	return false
}

// addressOf is the repository of an Application's source, written as all of them are.
func addressOf(source delivery.Source) string {
	return network.Normal(source.Settings.Text("repoURL"))
}
