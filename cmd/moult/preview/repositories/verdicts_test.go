package repositories

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	. "github.com/onsi/gomega"
)

// mostUnknown is the share of commits of which a person learns nothing.
const mostUnknown = 0.10

// result is what came of one commit.
type result struct {
	repository, commit string
	want               string
	got                answer
	pending            string
}

// Kinds of wrong answers.
const (
	right      = ""
	falseSafe  = "false safe"
	falseBlock = "false block"
	other      = "another verdict"
)

// wrong is what is wrong with an answer. A pipeline goes on after warnings, too, so they are false if a person stops.
func (r result) wrong() string {
	stops := func(verdict string) bool { return verdict != "safe" && verdict != "warnings" }
	switch got := r.got.verdict; {
	case got == r.want:
		return right
	case stops(r.want) && !stops(got), r.want == "warnings" && got == "safe":
		return falseSafe
	case got == "blocked":
		return falseBlock
	default:
		return other
	}
}

// TestEachCommitGetsThePersonsVerdict makes every repository of the corpus, commit after commit, and asks for each.
func TestEachCommitGetsThePersonsVerdict(t *testing.T) {
	all := readCorpus(t)
	NewWithT(t).Expect(len(all)).To(BeNumerically(">=", 20), "repositories")
	var results results
	t.Run("in", func(t *testing.T) {
		for _, r := range all {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				r.play(t, results.add)
			})
		}
	})
	results.print(os.Stdout)
	NewWithT(t).Expect(results.unknown()).To(BeNumerically("<=", mostUnknown), "share of commits that are unknown")
}

// play commits one state after the other, and adds what comes of each.
func (r repository) play(t *testing.T, add func(result)) {
	t.Helper()
	r = r.served(t)
	dir := t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	now := r.start
	record(t, dir, now)
	git(t, dir, "checkout", "--quiet", "-b", "topic")
	for i, c := range r.commits {
		t.Run(c.title, func(t *testing.T) {
			g := NewWithT(t)
			var err error
			now, err = applied(now, c.changes)
			g.Expect(err).NotTo(HaveOccurred())
			record(t, dir, now)
			one := result{repository: r.name, commit: c.title, want: c.verdict, pending: c.pending}
			one.got = preview(t, dir, "moult preview --base git:HEAD~1 --head git:HEAD -o json")
			add(one)
			one.check(g, c)
			if i == 0 {
				alone := preview(t, dir, "moult preview -o json")
				g.Expect(alone.verdict).To(Equal(one.got.verdict), "without arguments: "+alone.all)
			}
			git(t, dir, "branch", "--quiet", "--force", "main", "HEAD")
		})
	}
}

func record(t *testing.T, dir string, now state) {
	t.Helper()
	NewWithT(t).Expect(now.write(dir)).To(Succeed())
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--allow-empty", "--message", "a commit")
}

// check holds an answer against what a person says.
func (r result) check(g *WithT, c commit) {
	wrong := r.wrong()
	if c.pending != "" {
		g.Expect(wrong).NotTo(Equal(falseSafe), r.got.all)
		g.Expect(wrong).NotTo(Equal(right), "it is not pending any more; take the mark away")
		return
	}
	g.Expect(wrong).To(Equal(right), "%s, and %s: %s\n%s", r.got.verdict, c.verdict, c.why, r.got.all)
	for _, says := range c.says {
		g.Expect(r.got.all).To(ContainSubstring(says))
	}
}

// results are those of all repositories.
type results struct {
	mu  sync.Mutex
	all []result
}

func (r *results) add(one result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

func (r *results) count(of func(result) bool) (n int) {
	for _, one := range r.all {
		if of(one) {
			n++
		}
	}
	return n
}

func isUnknown(r result) bool { return r.got.verdict == "unknown" }

// unknown is the share of unknown answers.
func (r *results) unknown() float64 {
	return float64(r.count(isUnknown)) / float64(max(len(r.all), 1))
}

// print prints a row for each repository, all of them together, and the commits that are pending or wrong.
func (r *results) print(to io.Writer) {
	slices.SortStableFunc(r.all, func(a, b result) int { return strings.Compare(a.repository, b.repository) })
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "repository\tcommits\tfalse safes\tfalse blocks\tother\tunknown\tpending\tentries asked for")
	for i := 0; i < len(r.all); {
		some := results{}
		for name := r.all[i].repository; i < len(r.all) && r.all[i].repository == name; i++ {
			some.all = append(some.all, r.all[i])
		}
		some.row(w, some.all[0].repository)
	}
	r.row(w, "all")
	_ = w.Flush() // to standard output
	fmt.Fprintf(to, "unknown: %.0f %% of the commits\n", 100*r.unknown())
	for _, one := range r.all {
		if wrong := one.wrong(); one.pending != "" || wrong != right {
			fmt.Fprintf(to, "%s: %s: %s, a person says %s; pending: %s\n", one.repository, one.commit, one.got.verdict, one.want, one.pending)
		}
	}
}

func (r *results) row(to io.Writer, name string) {
	kind := func(k string) int {
		return r.count(func(one result) bool { return one.wrong() == k && one.pending == "" })
	}
	fmt.Fprintf(to, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", name, len(r.all), kind(falseSafe), kind(falseBlock), kind(other), r.count(isUnknown),
		r.count(func(one result) bool { return one.pending != "" }), r.count(func(one result) bool { return one.got.asked }))
}
