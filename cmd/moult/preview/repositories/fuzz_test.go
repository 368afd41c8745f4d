package repositories

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

// shards are how many searches there are, each with as many draws as rapid makes, 100 by default.
const shards = 3

// However a repository looks, what stops a pull request in it stops it: another name, another order, or files that are no
// manifests make nothing safe.
func TestNoMutationMakesACommitPass(t *testing.T) {
	stopped := stoppedPulls(t)
	names := slices.Sorted(maps.Keys(stopped))
	for i := range shards {
		t.Run(fmt.Sprintf("search %d", i+1), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			rapid.Check(t, func(r *rapid.T) {
				name := rapid.SampledFrom(names).Draw(r, "commit")
				p := stopped[name].clone()
				for _, m := range rapid.SliceOfN(rapid.SampledFrom(slices.Sorted(maps.Keys(mutations))), 1, 4).Draw(r, "mutations") {
					mutations[m](r, p)
				}
				got := ofFolders(t, dir, p)
				if got.verdict == "safe" || got.verdict == "warnings" {
					r.Fatalf("%s passes with %s: %s\nbase: %q\nhead: %q", name, got.verdict, got.all, p.base.paths(), p.head.paths())
				}
			})
		})
	}
}

// stoppedPulls are the commits of the corpus that a person stops, and Moult as well.
func stoppedPulls(t *testing.T) map[string]pull {
	t.Helper()
	found := map[string]pull{}
	for _, r := range readCorpus(t) {
		r = r.served(t)
		now := r.start
		for _, c := range r.commits {
			after, err := applied(now, c.changes)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			if c.pending == "" && (c.verdict == "blocked" || c.verdict == "unknown") {
				found[r.name+": "+c.title] = pull{now, after}
			}
			now = after
		}
	}
	return found
}

// ofFolders is a preview of two folders.
func ofFolders(t *testing.T, dir string, p pull) answer {
	t.Helper()
	for name, s := range map[string]state{"base": p.base, "head": p.head} {
		NewWithT(t).Expect(os.MkdirAll(filepath.Join(dir, name), 0o750)).To(Succeed())
		NewWithT(t).Expect(s.write(filepath.Join(dir, name))).To(Succeed())
	}
	return judged(t, filepath.Join(dir, "base"), filepath.Join(dir, "head"))
}
