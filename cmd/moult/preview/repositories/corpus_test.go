package repositories

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// repository is a repository of the corpus.
type repository struct {
	name string
	// modelledOn is the real repository that it is like, and its shape.
	modelledOn string
	start      state
	commits    []commit
	// elsewhere is what others have: files by the paths below them, by what the corpus calls it.
	elsewhere map[place]map[string]string
}

// commit is one commit, and what a person says of it.
type commit struct {
	title   string
	changes []change
	verdict string
	why     string
	// says are words of the answer.
	says []string
	// pending is why Moult is not expected to give the verdict yet; empty if it is.
	pending string
}

// state is a repository's files by their paths.
type state map[string]string

// readCorpus reads all repositories, by name.
func readCorpus(tb testing.TB) []repository {
	tb.Helper()
	g := NewWithT(tb)
	files, err := filepath.Glob("corpus/*.txt")
	g.Expect(err).NotTo(HaveOccurred())
	var all []repository
	for _, file := range files {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		r, err := parse(string(content))
		if err != nil {
			tb.Errorf("%s: %v", file, err)
		}
		r.name = strings.TrimSuffix(filepath.Base(file), ".txt")
		all = append(all, r)
	}
	return all
}

// parse reads one repository.
func parse(content string) (r repository, err error) {
	parts := strings.Split("\n"+content, "\n=== ")
	head, files := sections(parts[0])
	about, found := strings.CutPrefix(strings.TrimSpace(head), "modelled on ")
	if !found || !strings.Contains(about, ": ") {
		return r, fmt.Errorf("does not begin with what it is modelled on: %q", head)
	}
	r.modelledOn = strings.Join(strings.Fields(about), " ")
	r.elsewhere, files = elsewhereIn(files)
	if r.start, err = applied(state{}, files); err != nil {
		return r, err
	}
	now := r.start
	for _, part := range parts[1:] {
		title, rest, _ := strings.Cut(part, "\n")
		c, err := parseCommit(title, rest)
		if err == nil {
			now, err = applied(now, c.changes)
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", title, err)
		}
		r.commits = append(r.commits, c)
	}
	return r, nil
}

var verdicts = []string{"safe", "warnings", "unknown", "blocked"}

func parseCommit(title, rest string) (commit, error) {
	c := commit{title: title}
	head, changes := sections(rest)
	c.changes = changes
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "verdict":
			c.verdict = value
		case "why":
			c.why = value
		case "says":
			c.says = strings.Split(value, " | ")
		case "pending":
			c.pending = cmp.Or(value, "no reason")
		case "":
		default:
			return c, fmt.Errorf("%q is no line of a commit", line)
		}
	}
	if !slices.Contains(verdicts, c.verdict) || c.why == "" || len(c.changes) == 0 {
		return c, fmt.Errorf("needs a verdict of %q, a why and a change", verdicts)
	}
	return c, nil
}

// change is what a commit does to a path: an empty verb writes the whole file.
type change struct{ verb, path, content string }

// sections are what stands before the first header, and the changes that headers begin.
func sections(text string) (head string, found []change) {
	var before strings.Builder
	for line := range strings.Lines(text) {
		name, isHeader := strings.CutPrefix(strings.TrimRight(line, "\n"), "-- ")
		name, ends := strings.CutSuffix(name, " --")
		switch {
		case isHeader && ends:
			c := change{path: name}
			if verb, path, _ := strings.Cut(name, " "); path != "" {
				c.verb, c.path = verb, path
			}
			found = append(found, c)
		case len(found) == 0:
			before.WriteString(line)
		default:
			found[len(found)-1].content += line
		}
	}
	for i := range found {
		found[i].content = strings.TrimRight(found[i].content, "\n") + "\n"
	}
	return before.String(), found
}

// applied is a state after some changes.
func applied(to state, changes []change) (state, error) {
	after := maps.Clone(to)
	for _, c := range changes {
		if err := after.apply(c); err != nil {
			return nil, fmt.Errorf("%s %s: %w", c.verb, c.path, err)
		}
	}
	return after, nil
}
