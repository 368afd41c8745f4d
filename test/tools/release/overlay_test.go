package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// narrow runs go as a release does, at a folder.
func narrow(t *testing.T, folder string, args ...string) string {
	t.Helper()
	g := NewWithT(t)
	work := t.TempDir()
	overlay, err := source{root: "../../.."}.overlay(t.Context(), work)
	g.Expect(err).NotTo(HaveOccurred())
	command := exec.CommandContext(t.Context(), filepath.Join(work, "go", "bin", "go"), args...)
	command.Dir = folder
	command.Env = slices.Concat(os.Environ(), overlay, []string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-trimpath -gcflags=all=-dwarf=false -buildvcs=false"})
	said, err := command.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(said))
	return string(said)
}

// Their tests hold with Go's own engine, too; `make test` runs them.
func TestTemplatesGiveTheSameInARelease(t *testing.T) {
	said := narrow(t, "../../..", "test", "-count=1", "./clusters/charts/...", "./clusters/desired/...", "./policies/preview/output")
	NewWithT(t).Expect(said).To(ContainSubstring("moult/clusters/charts"))
}

func TestATemplateFailsWhereAMethodWasDropped(t *testing.T) {
	g := NewWithT(t)
	whole, err := exec.CommandContext(t.Context(), "go", "run", "./testdata/methods").Output()
	g.Expect(err).NotTo(HaveOccurred())
	lines := strings.Split(narrow(t, ".", "run", "./testdata/methods"), "\n")
	var differ []string
	for i, line := range strings.Split(string(whole), "\n") {
		if lines[i] != line {
			differ = append(differ, line)
			g.Expect(lines[i]).To(ContainSubstring("can't evaluate field"), line)
		}
	}
	g.Expect(differ).To(HaveExactElements(HavePrefix(".part.Key value"), HavePrefix(".part.Unlisted called"), HavePrefix(".pointer.Promoted value"), HavePrefix(".pointer.Unlisted called"),
		HavePrefix(".nil.Direct  template: "), HavePrefix(".nil.Unlisted called")))
}

func TestAnotherEngineIsRefused(t *testing.T) {
	g := NewWithT(t)
	for _, exec := range []string{"", anyMethod + anyMethod} {
		_, _, err := keeping(exec, []string{"String"})
		g.Expect(err).To(MatchError(ContainSubstring("adapt test/tools/release/overlay.go")))
	}
}
