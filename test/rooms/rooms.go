// Package rooms holds the shape of the repository: which folders there are, and which of them may import which. The
// map is the table in CONTRIBUTING.md, and nothing else: to give the project a new room, or a room a new door, change it
// there and say why in docs/decisions.
//
// The test reads every Go file of the repository, in whichever module and behind whichever build tag, except for tests:
// those may import what they like, but those of pure packages start no server.
package rooms

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const modulePath = "github.com/moult-dev/moult"

// room is a folder with everything below it, down to a room of its own inside.
type room struct {
	folder string
	// mayImport lists the rooms it may import besides itself; "health/..." means health and the rooms inside it.
	mayImport []string
	// pure rooms decide: the same input gives the same answer, on any machine and at any time.
	pure bool
}

// house is the rooms of the map.
type house []room

var (
	roomRow = regexp.MustCompile("(?m)^\\| `([a-z0-9/-]+)` \\| (.*) \\| (.*) \\|$")
	code    = regexp.MustCompile("`([^`]+)`")
)

// readMap reads the rooms from the table under "## The map". A row is a folder, what lives there, which begins with
// **pure** in a room that is, and the rooms that it may import, each as code, or the word nothing.
func readMap(contributing string) (house, error) {
	_, table, found := strings.Cut(contributing, "\n## The map\n")
	if !found {
		return nil, errors.New(`CONTRIBUTING.md has no section "## The map"`)
	}
	table, _, _ = strings.Cut(table, "\n## ")
	var rooms house
	for _, row := range roomRow.FindAllStringSubmatch(table, -1) {
		r := room{folder: row[1], pure: strings.HasPrefix(row[2], "**pure**")}
		for _, open := range code.FindAllStringSubmatch(row[3], -1) {
			r.mayImport = append(r.mayImport, open[1])
		}
		if len(r.mayImport) == 0 && row[3] != "nothing" {
			return nil, fmt.Errorf("CONTRIBUTING.md: %s may import %q, which names no room; write nothing if it is none", r.folder, row[3])
		}
		rooms = append(rooms, r)
	}
	return rooms, nil
}

// forbiddenWhenPure are packages that reach outside of the process, each with everything below it unless it ends in $.
var forbiddenWhenPure = []string{
	"os", "net$", "net/http", "syscall", "math/rand", "crypto/rand",
	"k8s.io/client-go", "sigs.k8s.io/controller-runtime",
}

// topLevel is all that may lie at the top of the repository, apart from what starts with a dot.
var topLevel = []string{
	"api", "clusters", "cmd", "controllers", "docs", "examples", "health", "lua", "policies", "test",
	"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "go.mod", "go.sum",
}

// ignored is what .gitignore keeps out of the repository.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || name == "bin" || strings.HasSuffix(name, ".test") || strings.HasSuffix(name, ".out")
}

// nameless are folder names that say nothing about what lies inside.
var nameless = []string{"util", "utils", "common", "helper", "helpers", "pkg", "misc"}

// roomOf finds the innermost room of a folder, relative to the repository's root.
func (h house) roomOf(folder string) (room, bool) {
	var found room
	for _, r := range h {
		if within(folder, r.folder) && len(r.folder) > len(found.folder) {
			found = r
		}
	}
	return found, found.folder != ""
}

// doorTo tells whether a folder of ours may be imported from the room.
func (h house) doorTo(r room, folder string) bool {
	other, ok := h.roomOf(folder)
	if !ok {
		return false
	}
	return other.folder == r.folder || slices.ContainsFunc(r.mayImport, func(open string) bool {
		around, all := strings.CutSuffix(open, "/...")
		return other.folder == open || all && within(other.folder, around)
	})
}

// forbids tells whether a package of somebody else's has no place in the room.
func (r room) forbids(path string) bool {
	return r.pure && slices.ContainsFunc(forbiddenWhenPure, func(forbidden string) bool {
		exact, only := strings.CutSuffix(forbidden, "$")
		return path == exact || !only && within(path, forbidden)
	})
}

func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
