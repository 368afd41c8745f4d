package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestTheEndNamesTheSlowestPackagesAndThoseThatFailed(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	printed := "--- FAIL: TestX (0.1s)\n    x.go:1: no\n" + "FAIL\n" + "FAIL\t" + module + "b\t12.000s\n"
	r := &results{out: &out, skipped: []string{"TestLong"}}
	g.Expect(r.read(strings.NewReader("ok  \t" + module + "a\t1.500s\n" + printed))).To(Succeed())
	g.Expect(r.read(strings.NewReader("ok  \t" + module + "c\t(cached)\nFAIL\t" + module + "d [build failed]\n"))).To(Succeed())
	for i := range 10 {
		g.Expect(r.read(strings.NewReader(fmt.Sprintf("ok  \t%sp%d\t%d.000s\n", module, i, 20+i)))).To(Succeed())
	}
	r.summary(90 * time.Second)

	g.Expect(out.String()).To(ContainSubstring(printed), "what a package prints stays together")
	_, end, found := strings.Cut(out.String(), "\n\n")
	g.Expect(found).To(BeTrue())
	lines := strings.Split(strings.TrimSpace(end), "\n")
	g.Expect(lines[0]).To(Equal("14 packages, 2 failed, in 1m30s; the slowest:"))
	g.Expect(lines[1:11]).To(HaveEach(MatchRegexp(`^  p\d +2\d\.0 s$`)))
	g.Expect(lines[1]).To(HavePrefix("  p9 "))
	g.Expect(lines[11:]).To(ConsistOf("left to make test-full: TestLong", "failed: b", "failed: d"))
}

func TestThePackagesOfARun(t *testing.T) {
	packages := []pkg{{name: "policies/a"}, {name: "controllers/repair", needsServer: true}, {name: "examples/ci"}, {name: "test/simulation"}, {name: "cmd/b", needsServer: true}}
	left := slices.Concat(hours, longTests())
	for name, c := range map[string]struct {
		suite suite
		want  []group
	}{
		"the race detector watches those that start goroutines, and what needs no server is apart": {
			suite{race: true}, []group{{true, true, nil, left, []string{"controllers/repair"}}, {false, true, nil, left, []string{"cmd/b"}}, {false, false, nil, left, []string{"test/simulation", "policies/a"}}},
		},
		"without a C compiler nothing is watched": {
			suite{}, []group{{false, true, nil, left, []string{"controllers/repair"}}, {false, true, nil, left, []string{"cmd/b"}}, {false, false, nil, left, []string{"test/simulation", "policies/a"}}},
		},
		"a fast run has what needs no server and is not slow": {suite{race: true, fast: true}, []group{{false, false, nil, left, []string{"policies/a"}}}},
		"a long run has nothing but long tests": {
			suite{race: true, long: true}, []group{{true, true, longTests(), nil, []string{"controllers/repair"}}, {false, false, longTests(), nil, []string{"test/simulation"}}},
		},
		"a test that is named may be a long one": {
			suite{fast: true, goTest: []string{"-run", "TestTheMove"}}, []group{{false, false, nil, hours, []string{"policies/a"}}},
		},
		"for another Kubernetes, what needs no server is left out, and what is long is not": {
			suite{servers: true}, []group{{false, true, nil, hours, []string{"controllers/repair"}}, {false, true, nil, hours, []string{"cmd/b"}}},
		},
		"a full run watches all, and leaves no test out": {
			suite{race: true, full: true}, []group{{true, true, nil, nil, []string{"policies/a", "test/simulation", "cmd/b", "controllers/repair"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.suite.groups(slices.Clone(packages))).To(Equal(c.want))
		})
	}
}

func TestEachPackageAndTestThatAListNamesIsThere(t *testing.T) {
	g := NewWithT(t)
	t.Chdir("../..")
	packages, err := list(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, p := range packages {
		names = append(names, p.name)
	}
	g.Expect(names).To(ContainElements(slices.Concat(raced, elsewhere, slow)))
	g.Expect(packages).To(ContainElements(pkg{"controllers/migration", true}, pkg{"policies/plan", false}, pkg{"cmd/moult/migrate", true}))
	for in, tests := range long {
		for _, test := range tests {
			g.Expect(exec.CommandContext(t.Context(), "git", "grep", "-q", "^func "+test+"(", in+"/*_test.go").Run()).To(Succeed(), "%s of %s", test, in)
		}
	}
}

func TestEachModuleIsLinted(t *testing.T) {
	g := NewWithT(t)
	t.Chdir("../..")
	var linted []string
	for file, list := range map[string]string{"Makefile": `(?m)^(?:LINTED|ARGOCD) = (.*)$`, "test/full.mk": `(?m)\blint LINTED=([a-z/]+)$`} {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, found := range regexp.MustCompile(list).FindAllStringSubmatch(string(content), -1) {
			linted = append(linted, strings.Fields(found[1])...)
		}
	}
	modules, err := exec.CommandContext(t.Context(), "git", "ls-files", "*go.mod").Output()
	g.Expect(err).NotTo(HaveOccurred())
	var ours []string
	for module := range strings.FieldsSeq(string(modules)) {
		code, err := exec.CommandContext(t.Context(), "git", "ls-files", filepath.Join(filepath.Dir(module), "*.go")).Output()
		g.Expect(err).NotTo(HaveOccurred())
		if len(code) > 0 {
			ours = append(ours, filepath.Dir(module))
		}
	}
	g.Expect(linted).To(ConsistOf(ours))
}

func TestAChangedFileBelongsToAPackage(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	write := func(file string) string {
		file = filepath.Join(root, file)
		g.Expect(os.MkdirAll(filepath.Dir(file), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(file, nil, 0o600)).To(Succeed())
		return file
	}
	a := filepath.Dir(write("a/a.go"))
	for file, want := range map[string]bool{
		"a/a.go":              true,
		"a/testdata/one.yaml": true,
		"a/b/b.go":            false,
		"c/c.yaml":            false,
	} {
		g.Expect(belongs(write(file), []string{a})).To(Equal(want), file)
	}
}

func TestHelpFitsOnAScreen(t *testing.T) {
	g := NewWithT(t)
	targets := 0
	for _, file := range []string{"../../Makefile", "../full.mk", "../tools/tools.mk"} {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		targets += len(regexp.MustCompile(`(?m)^[a-z0-9-]+:[^#\n]*## `).FindAll(content, -1))
	}
	g.Expect(targets-1).To(And(BeNumerically(">", 10), BeNumerically("<=", 15)), "help itself is not counted")
}
