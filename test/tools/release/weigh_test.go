package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
)

func TestAProgramThatBecomesTooHeavyIsRefused(t *testing.T) {
	g := NewWithT(t)
	program := filepath.Join(t.TempDir(), "moult")
	g.Expect(os.WriteFile(program, nil, 0o600)).To(Succeed())
	g.Expect(os.Truncate(program, most["moult"])).To(Succeed())
	g.Expect(light(program, "moult", platform)).To(Succeed())
	g.Expect(os.Truncate(program, most["moult"]+1)).To(Succeed())
	g.Expect(light(program, "moult", platform)).To(MatchError(ContainSubstring("moult for " + platform + " has 60.0 MB, and may have 60")))
}

// Of what is in this test's own program.
func TestTheTableHasTheModulesOfAProgram(t *testing.T) {
	g := NewWithT(t)
	program := filepath.Join(t.TempDir(), "release")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	said, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(said))
	var table bytes.Buffer
	g.Expect(weigh(program, &table)).To(Succeed())
	g.Expect(table.String()).To(And(ContainSubstring("Go's own library"), ContainSubstring("github.com/google/go-containerregistry")))
	info, err := os.Stat(program)
	g.Expect(err).NotTo(HaveOccurred())
	var sum float64
	for _, row := range regexp.MustCompile(`(?m)^ *([0-9.]+) +[0-9.]+ +\S`).FindAllStringSubmatch(table.String(), -1) {
		megabytes, err := strconv.ParseFloat(row[1], 64)
		g.Expect(err).NotTo(HaveOccurred())
		sum += megabytes * 1e6
	}
	g.Expect(sum).To(BeNumerically("~", float64(info.Size())*0.75, float64(info.Size())*0.2), "it is most of the program")
}
