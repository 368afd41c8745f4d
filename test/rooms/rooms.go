// Package rooms holds the shape of the repository: which floors there are, and which of them may import which. The floors
// are below, each with the sentence that docs/architecture.md has about it; to change one, change both and say why in
// docs/decisions.
//
// The test reads every Go file of the repository, in whichever module and behind whichever build tag, except for tests:
// those may import what they like, but those of pure packages start no server.
package rooms

import (
	"slices"
	"strings"
)

const modulePath = "github.com/moult-dev/moult"

// floor is some folders with everything below them, less the folders that another floor has.
type floor struct {
	folders []string
	// sentence is what docs/architecture.md says about it.
	sentence string
	// imports lists the folders that it may import besides itself, with everything below them.
	imports []string
	// pure floors decide: the same input gives the same answer, on any machine and at any time.
	pure bool
}

var ground = []string{"api", "health", "lua"}

// house is the floors from the top to the ground.
var house = []floor{
	{
		folders:  []string{"test", "examples", "cmd/moult/internal/clitest"},
		sentence: "`test`, `examples` and `cmd/moult/internal/clitest` import everything, and no other floor imports them.",
		imports:  slices.Concat([]string{"cmd", "clusters", "controllers", "policies", "health/argocd"}, ground),
	},
	{
		folders:  []string{"cmd"},
		sentence: "`cmd`, the programs, imports everything below.",
		imports:  slices.Concat([]string{"clusters", "controllers", "policies", "health/argocd"}, ground),
	},
	{
		folders:  []string{"clusters"},
		sentence: "`clusters`, the outside (Git, charts, live clusters, archives), imports `controllers/rewrite`, `policies` and the ground.",
		imports:  slices.Concat([]string{"controllers/rewrite", "policies"}, ground),
	},
	{
		folders:  []string{"controllers"},
		sentence: "`controllers`, which act, import `policies` and the ground, and are given what they need of `clusters`.",
		imports:  slices.Concat([]string{"policies"}, ground),
	},
	{
		folders:  []string{"policies"},
		sentence: "`policies`, which judge and are pure, import the ground.",
		imports:  ground,
		pure:     true,
	},
	{
		folders:  ground,
		sentence: "`api`, `health` and `lua` are the ground and pure; they import nothing of ours but one another.",
		pure:     true,
	},
	{
		folders:  []string{"health/argocd", "lua/generate"},
		sentence: "`health/argocd` and `lua/generate` stand on the ground, for Argo CD's code and for files.",
		imports:  ground,
	},
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

// floorOf finds the floor that has the innermost folder around this one, relative to the repository's root.
func floorOf(folder string) (found floor, ok bool) {
	innermost := ""
	for _, f := range house {
		for _, around := range f.folders {
			if within(folder, around) && len(around) > len(innermost) {
				innermost, found = around, f
			}
		}
	}
	return found, innermost != ""
}

// mayImport is whether a folder of ours may be imported from the floor.
func (f floor) mayImport(folder string) bool {
	other, ok := floorOf(folder)
	if !ok {
		return false
	}
	return other.sentence == f.sentence || slices.ContainsFunc(f.imports, func(open string) bool {
		at, _ := floorOf(open) // what is open does not open what another floor has inside of it
		return within(folder, open) && other.sentence == at.sentence
	})
}

// forbids is whether a package of somebody else's has no place on the floor.
func (f floor) forbids(path string) bool {
	return f.pure && slices.ContainsFunc(forbiddenWhenPure, func(forbidden string) bool {
		exact, only := strings.CutSuffix(forbidden, "$")
		return path == exact || !only && within(path, forbidden)
	})
}

func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
