package preview

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/scan"
	"github.com/moult-dev/moult/policies/words"
)

// findEntries finds the entry points of a repository if none was named, and has all of them followed. Built as one, what several
// clusters get would be mixed up. Which of them a snapshot is of is not guessed but asked for, in a command that can be run.
func (p *command) findEntries(s *sides) error {
	if len(p.entries) > 0 {
		return nil
	}
	var found []string
	for _, one := range []side{s.base, s.head} {
		if one.tree == nil {
			continue
		}
		entries, err := scan.EntryPoints(one.tree)
		if err != nil {
			return fmt.Errorf("%s: %w", one.tree.Name, err)
		}
		found = append(found, entries...)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	if len(found) > 1 && slices.ContainsFunc(append(p.snapshots, p.contexts...), func(text string) bool { return !strings.Contains(text, "=") }) {
		return fmt.Errorf("this folder has entry points of clusters: %s; run `%s`, or use --entry . to take the whole folder for one cluster",
			strings.Join(found, ", "), p.commandWith(found))
	}
	if p.entries, p.found = found, len(found) > 0; p.found {
		fmt.Fprintf(p.ErrOut, "followed: the entry points %s; name others with --entry\n", words.Few(found, maxFolders))
	}
	return nil
}

// commandWith is the command line, with entry points.
func (p *command) commandWith(entries []string) string {
	line := []string{p.Name, "preview", "--base", p.base, "--head", p.head}
	for _, entry := range entries {
		line = append(line, "--entry", entry)
	}
	for _, flag := range []struct {
		name   string
		values []string
	}{{"--snapshot", p.snapshots}, {"--context", p.contexts}} { // --also does not go without --entry
		for _, value := range flag.values {
			line = append(line, flag.name, labelled(value, entries))
		}
	}
	for _, output := range p.outputs {
		line = append(line, "--output", output)
	}
	if !p.failOn.IsDefault() {
		line = append(line, "--fail-on", p.failOn.Value)
	}
	for i, word := range line {
		line[i] = words.Shell(word)
	}
	return strings.Join(line, " ")
}

// labelled says which entry point a snapshot or a context is for: the only one, the one that it is called after, or one that
// a person has to name.
func labelled(value string, entries []string) string {
	if len(entries) == 1 || strings.Contains(value, "=") {
		return value
	}
	name := strings.TrimSuffix(path.Base(value), path.Ext(value))
	for _, entry := range entries {
		if path.Base(entry) == name {
			return name + "=" + value
		}
	}
	return "ENTRY=" + value
}
