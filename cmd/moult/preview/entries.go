package preview

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/policies/words"
)

// askForEntries refuses to take a whole repository for one cluster: built as one, what several clusters get would be mixed
// up, and what no cluster gets would count. Which of the folders are clusters is not guessed but asked for, in a command
// that can be run as it is, because a cluster that the guess misses would not be looked at.
func (p *command) askForEntries(s *sides) error {
	var found []string
	for _, one := range []side{s.base, s.head} {
		if one.tree == nil {
			continue
		}
		entries, err := desired.EntryPoints(one.tree)
		if err != nil {
			return fmt.Errorf("%s: %w", one.tree.Name, err)
		}
		for _, entry := range entries {
			if !slices.Contains(found, entry) {
				found = append(found, entry)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.Sort(found)
	return fmt.Errorf("this folder has entry points of clusters: %s; run `%s`, or use --entry . to take the whole folder for one cluster",
		strings.Join(found, ", "), p.commandWith(found))
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
