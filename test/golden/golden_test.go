package golden_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/programs"
)

var (
	update = flag.Bool("update", false, "write what is expected anew")
	pages  = flag.String("pages", "", "a folder for the page of every pull request")
)

// moult is the program, as people run it.
var moult string

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if moult, err = programs.Path("moult"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// The exit codes of moult preview. No pull request is expected to end with its error.
var codes = map[int]string{0: "safe", 1: "blocked", 3: "unknown", 4: "warnings"}

// TestWhatAReviewerReads runs moult preview on each pull request. The exit code is never updated: it is what a person
// expects of it.
func TestWhatAReviewerReads(t *testing.T) {
	programs.Tested()
	all := pulls(t)
	dir := newRepository(t, all)
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(p.About).NotTo(BeEmpty())
			g.Expect(codes).To(HaveKey(p.Exit))
			out := t.TempDir()
			args := []string{"preview", "--base", "git:main", "--head", "git:" + p.name, "--marker", "golden", "--max-age", "0",
				"--offline", "-o", "text", "--output", "markdown=" + out + "/md", "--output", "json=" + out + "/json", "--output", "html=" + out + "/html"}
			for _, cluster := range clusters {
				args = append(args, "--entry", "clusters/"+cluster)
			}
			for _, cluster := range p.Snapshots {
				args = append(args, "--snapshot", "clusters/"+cluster+"="+p.copied(g, cluster, dir))
			}
			code, said := run(t, dir, moult, append(args, p.Args...)...)
			g.Expect(code).To(Equal(p.Exit), said)
			p.compare(g, "expected.md", filepath.Join(out, "md"))
			p.compare(g, "expected.json", filepath.Join(out, "json"))
			p.keepPage(g, filepath.Join(out, "html"))
		})
	}
}

// keepPage is for `make picture`.
func (p pull) keepPage(g *WithT, file string) {
	content, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	if *pages != "" {
		g.Expect(os.WriteFile(filepath.Join(*pages, p.name+".html"), content, 0o600)).To(Succeed())
	}
}

// copied puts a snapshot where the report can name it the same on every machine: beside the repository.
func (p pull) copied(g *WithT, cluster, dir string) string {
	content, err := os.ReadFile(p.snapshot(cluster))
	g.Expect(err).NotTo(HaveOccurred())
	name := cluster + ".yaml"
	g.Expect(os.WriteFile(filepath.Join(dir, name), content, 0o600)).To(Succeed())
	return name
}

func (p pull) compare(g *WithT, name, file string) {
	got, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	if *update {
		g.Expect(os.WriteFile(p.file(name), got, 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(p.file(name))
	g.Expect(err).NotTo(HaveOccurred(), "run the test with -update, and read what it wrote")
	g.Expect(string(got)).To(Equal(string(want)))
}

// run is how a program ended, and all that it said.
func run(t *testing.T, dir, program string, args ...string) (code int, said string) {
	t.Helper()
	var output bytes.Buffer
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir, command.Stdout, command.Stderr = dir, &output, &output
	err := command.Run()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
	return command.ProcessState.ExitCode(), output.String()
}
