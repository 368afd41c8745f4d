package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

const module = "github.com/moult-dev/moult/"

// raced are the packages that the race detector watches in every run, those that take longest first: they start
// goroutines, or their tests drive many at once. Elsewhere it would only cost time; `make test-full` has it watch all.
var raced = []string{
	"controllers/migration",
	"controllers/removal",
	"controllers/repair",
	"controllers/rewrite/embeddedcopies",
	"test/faults",
	"clusters/inspect",
	"cmd/moult-controller",
	"controllers/rewrite",
	"clusters/converters",
	"controllers/rewrite/throttle",
	"controllers/rewrite/owners",
	"clusters/network",
}

// elsewhere are packages that parts of `make test-full` run, since they need more than Go.
var elsewhere = []string{
	"examples/ci",    // scripts: curl and jq
	"test/collector", // collector: kube-controller-manager
	"test/guides",    // docs: kubectl
	"test/newcomer",  // newcomer: kubectl
	"test/site",      // site: what Hugo has built
}

// slow need no server, and are left out of a fast run all the same, those that take longest last. A whole run begins with them.
var slow = []string{
	"cmd/moult",
	"test/controlplane/build",
	"cmd/moult/check/versions",
	"test/golden",
	"test/demo",
	"cmd/moult/test",
	"cmd/moult/preview",
	"test/simulation",
	"cmd/moult/preview/repositories",
}

// long are the tests of a package that cost most: eight seconds of CPU time and more each, with their servers. `make test-full
// PARTS=long` runs them, and .ci/run does so where a change touches one of these packages.
var long = map[string][]string{
	"cmd/moult/migrate":  {"TestMigrateInterruptedGoesOnWithTheRest"},
	"cmd/moult/rehearse": {"TestAmongAThousandObjectsExactlyThoseAreNamed"},
	"cmd/moult/repair":   {"TestAThousandAreMovedAndARepairThatStopsGoesOn"},
	"cmd/moult/preview/repositories": {
		"TestEachCommitGetsThePersonsVerdict",
		"TestEveryFileIsAccountedFor",
	},
	"controllers/migration": {
		"TestALookAtEveryObjectSaysHowFarItIs",
		"TestSchemasTakeNoMoreThanTheyCountAs",
		"TestSchemasThatTakeMoreMemoryThanThereIsAreNotDecoded",
		"TestWhatIsNotAnObjectOfTheCRDIsReadInSmallPagesToo",
	},
	"controllers/removal": {
		"TestATenantHasNoSayWhereThePlatformSaysWhoHas",
		"TestATenantThatAsksForAVersionThatStaysDoesNotCloseThePlatformsOpenGate",
		"TestLargeKustomizationsAreNotReadAtOnce",
		"TestWhatIsNotAnsweredKeepsNoApproval",
	},
	"controllers/repair": {
		"TestAnObjectWithThousandsOfOwnersIsRepaired",
		"TestCopiesAreTouchedOnlyWithTheAnnotationTheLabelAndTheProof",
		"TestTheMoveStopsWhenItIsNotWantedAnyMore",
	},
	"controllers/rewrite/embeddedcopies": {"TestWhatAnnotationsHoldIsNotHeld"},
	"policies/crdschema":                 {"TestManyFieldsThatLieDeepTakeNoMoreThanTheirObject"},
	"test/conformance/admission":         {"TestACRDsLifeUnderTheRules"},
	"test/faults":                        {"TestEveryFault"},
	"test/simulation":                    {"TestNothingCanBeLeftOut"},
}

// hours are tests that take minutes by themselves, or more memory than most machines have; only `make test-full` runs them.
var hours = []string{
	"TestTheShippedMemoryIsEnough",
	"TestTheShippedMemoryIsEnoughForAllAtOnce",
	"TestTheShippedMemoryIsEnoughForCRDsWithManyLabels",
	"TestTheShippedMemoryIsEnoughForLargeMetadata",
	"TestTheShippedMemoryIsEnoughForManyFields",
	"TestTheShippedMemoryIsEnoughForVersionRemovalsWithManyLabels",
	"TestTheShippedMemoryIsEnoughForWhatAnybodyPacks",
	"TestTheShippedMemoryIsEnoughToRehearse",
}

// pkg is a package that has tests.
type pkg struct {
	// name is the import path inside the module.
	name string
	// needsServer is whether its tests attach to a control plane, or start one.
	needsServer bool
}

// list is every package of the main module that has tests.
func list(ctx context.Context) (packages []pkg, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath                                           string
			TestImports, XTestImports, TestGoFiles, XTestGoFiles []string
		}
		err := decoder.Decode(&p)
		switch {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("go list: %w", err)
		case len(p.TestGoFiles)+len(p.XTestGoFiles) > 0:
			needsServer := slices.Contains(slices.Concat(p.TestImports, p.XTestImports), module+"test/controlplane")
			packages = append(packages, pkg{name: strings.TrimPrefix(p.ImportPath, module), needsServer: needsServer})
		}
	}
}

// group is what one go test runs.
type group struct {
	race, needsServer bool
	only, skip        []string // tests
	packages          []string
}

// longPackages are the packages of these tests, as go test takes them.
func longPackages() (packages []string) {
	for _, name := range slices.Sorted(maps.Keys(long)) {
		packages = append(packages, "./"+name)
	}
	return packages
}

// longTests are the names of all of them.
func longTests() []string {
	return slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(long))...)))
}

// leavesLong is whether a run leaves the long tests out. A name of a test may be that of a long one.
func (s suite) leavesLong() bool {
	return !s.long && !s.full && !s.servers && !slices.ContainsFunc(s.goTest, func(flag string) bool { return strings.HasPrefix(strings.TrimLeft(flag, "-"), "run") })
}

// groups are the packages that the race detector watches, the others that need a server, and the rest.
func (s suite) groups(packages []pkg) []group {
	watched, servers, rest := group{race: s.race, needsServer: true}, group{needsServer: true}, group{}
	for _, g := range []*group{&watched, &servers, &rest} {
		switch {
		case s.long:
			g.only = longTests()
		case s.leavesLong():
			g.skip = slices.Concat(hours, longTests())
		case !s.full:
			g.skip = hours
		}
	}
	for _, p := range packages {
		switch {
		case slices.Contains(elsewhere, p.name), s.servers && !p.needsServer, s.fast && (p.needsServer || slices.Contains(slow, p.name)), s.long && len(long[p.name]) == 0:
		case s.full, !s.fast && slices.Contains(raced, p.name):
			watched.packages = append(watched.packages, p.name)
		case p.needsServer:
			servers.packages = append(servers.packages, p.name)
		default:
			rest.packages = append(rest.packages, p.name)
		}
	}
	slices.SortStableFunc(watched.packages, func(a, b string) int { return cmp.Compare(slices.Index(raced, a), slices.Index(raced, b)) })
	slices.SortStableFunc(rest.packages, func(a, b string) int { // what takes longest does not come last, when the others have ended
		return cmp.Compare(slices.Index(slow, b), slices.Index(slow, a))
	})
	return slices.DeleteFunc([]group{watched, servers, rest}, func(g group) bool { return len(g.packages) == 0 })
}

// named is the pattern of go test that matches these tests.
func named(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }

// cgo is what only the race detector needs.
var cgo = map[bool]string{true: "1", false: "0"}

// run runs the group's tests and reports each package when it has ended. The symbol table and the debugging information
// are left out of the test binaries: to link them takes a third of the time, and no test reads them. `make lint` vets.
func (g group) run(ctx context.Context, flags, env []string, to *results) error {
	args := []string{"test", "-vet=off", "-ldflags=-s -w", "-timeout=30m"} // what has a lower priority waits for the others
	if g.needsServer {
		args = append(args, "-parallel=4") // they wait for a server for half of their time
	}
	if g.race {
		args = append(args, "-race")
	}
	if len(g.only) > 0 {
		args = append(args, "-run="+named(g.only))
	}
	if len(g.skip) > 0 {
		args = append(args, "-skip="+named(g.skip))
	}
	args = append(args, flags...)
	for _, name := range g.packages {
		args = append(args, "./"+name)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go test does not pass a signal on to the tests
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.Env, cmd.Stderr = append(slices.Clip(env), "CGO_ENABLED="+cgo[g.race]), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if !g.needsServer {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, cmd.Process.Pid, 5) // they fill the time in which the others wait
	}
	return errors.Join(to.read(out), cmd.Wait())
}
