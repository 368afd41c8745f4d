package snapshot

import (
	"fmt"
	"slices"

	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/policies/words"
)

// summarize sums up on standard error, so that standard output stays the snapshot.
func (s *command) summarize(taken *snapshot.Snapshot) {
	objects, looked := int64(0), 0
	for _, crd := range taken.CRDs {
		if crd.Objects != nil {
			objects += crd.Objects.Count
			looked++
		}
	}
	where := ""
	if s.file != "" {
		where = " in " + s.file
	}
	fmt.Fprintf(s.ErrOut, "%s: %s, %s of %d of them, %s%s\n", taken.Cluster,
		words.Count(len(taken.CRDs), "CRD"), words.Count(int(objects), "object"), looked, words.Count(len(taken.Removals), "VersionRemoval"), where)
	for _, name := range taken.Named {
		if !slices.ContainsFunc(taken.CRDs, func(c snapshot.CRD) bool { return c.Name == name }) && !slices.ContainsFunc(taken.NotRead, func(n snapshot.NotRead) bool { return n.CRD == name }) {
			fmt.Fprintf(s.ErrOut, "the cluster has no CRD %s; the snapshot records that\n", name)
		}
	}
	for _, n := range taken.NotRead {
		fmt.Fprintf(s.ErrOut, "not read: %s\n", n.Why)
	}
}
