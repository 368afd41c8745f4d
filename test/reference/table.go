// Package reference reads the tables of docs/reference.md, for tests that hold them to the code: a flag, a reason, a
// metric or a command that is not in its table fails one, and so does a row about something that there is not.
package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moult-dev/moult/test/controlplane/assets"
)

// Row is a row of a table: its cells, without the first one.
type Row []string

// Table is the first table below a heading of docs/reference.md, by what stands in its first column, without backticks.
func Table(heading string) (map[string]Row, error) {
	text, err := Text()
	if err != nil {
		return nil, err
	}
	_, section, found := strings.Cut(text, "\n## "+heading+"\n")
	if !found {
		return nil, fmt.Errorf("docs/reference.md has no heading %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	_, body, found := strings.Cut(section, "|---|")
	if !found {
		return nil, fmt.Errorf("docs/reference.md has no table below %q", heading)
	}
	rows := map[string]Row{}
	for _, line := range strings.Split(body, "\n")[1:] {
		inside, isRow := strings.CutPrefix(line, "| ")
		if !isRow {
			break
		}
		cells := strings.Split(strings.TrimSuffix(inside, " |"), " | ")
		name := strings.ReplaceAll(cells[0], "`", "")
		if rows[name] != nil {
			return nil, fmt.Errorf("docs/reference.md has %q twice below %q", name, heading)
		}
		rows[name] = cells[1:]
	}
	return rows, nil
}

// Text is docs/reference.md.
func Text() (string, error) {
	root, err := assets.Root()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "reference.md"))
	return string(text), err
}
