// Package rooms holds the shape of the repository: which folders there are, and which of them may import which. The
// table below is the map in CONTRIBUTING.md as the test reads it; to give the project a new room, or a room a new
// door, change both and say why in docs/decisions.
//
// The test reads every Go file of the repository, in whichever module and behind whichever build tag, except for tests:
// those may import what they like.
package rooms

import (
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

var rooms = []room{
	{folder: "api", pure: true},
	{folder: "health", mayImport: []string{"api"}, pure: true},
	{folder: "health/argocd", mayImport: []string{"api", "health"}}, // on top of gitops-engine
	{folder: "lua"},
	{folder: "controllers/plan", mayImport: []string{"api"}, pure: true},
	{folder: "controllers/provenance", mayImport: []string{"api"}, pure: true},
	{folder: "controllers/rewrite"},
	{folder: "controllers/migration", mayImport: []string{"api", "controllers/plan", "controllers/provenance", "controllers/rewrite"}},
	{folder: "controllers/removal", mayImport: []string{"api", "controllers/plan", "controllers/provenance", "health"}},
	{folder: "policies/admission"},
	{folder: "policies/bridge", mayImport: []string{"api", "policies/crddiff"}, pure: true},
	{folder: "policies/crddiff", mayImport: []string{"api", "policies/finding"}, pure: true},
	{folder: "policies/delivery", mayImport: []string{"api", "policies/finding"}, pure: true},
	{folder: "policies/doctor", mayImport: []string{"api", "controllers/plan", "controllers/provenance", "controllers/removal", "policies/finding"}, pure: true},
	{folder: "policies/finding", pure: true},
	{folder: "policies/manifests", mayImport: []string{"api", "policies/finding"}, pure: true},
	{folder: "policies/optin", mayImport: []string{"api", "policies/delivery", "policies/finding"}, pure: true},
	{folder: "policies/preview", mayImport: []string{"api", "controllers/removal", "policies/crddiff", "policies/delivery", "policies/finding", "policies/manifests", "policies/rollout", "policies/snapshot"}, pure: true},
	{folder: "policies/releasenotes", mayImport: []string{"api", "policies/crddiff", "policies/finding"}, pure: true},
	{folder: "policies/rollout", mayImport: []string{"api", "policies/crddiff", "policies/delivery", "policies/finding", "policies/optin"}, pure: true},
	{folder: "policies/snapshot", mayImport: []string{"api", "controllers/plan", "controllers/provenance", "controllers/removal", "policies/finding"}, pure: true},
	{folder: "clusters", mayImport: []string{"api", "policies/delivery", "policies/finding"}},
	{folder: "clusters/inspect", mayImport: []string{"api", "controllers/plan", "controllers/provenance", "controllers/rewrite", "policies/snapshot"}},
	{folder: "cmd", mayImport: []string{"api", "health/...", "lua", "controllers/...", "policies/...", "clusters/..."}},
	{folder: "examples", mayImport: []string{"api", "controllers/migration"}}, // what other people's operators embed
	{folder: "test", mayImport: []string{"api", "health/...", "lua", "controllers/...", "policies/...", "clusters/...", "cmd", "examples"}},
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
func roomOf(folder string) (room, bool) {
	var found room
	for _, r := range rooms {
		if within(folder, r.folder) && len(r.folder) > len(found.folder) {
			found = r
		}
	}
	return found, found.folder != ""
}

// doorTo tells whether a folder of ours may be imported from the room.
func (r room) doorTo(folder string) bool {
	other, ok := roomOf(folder)
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
