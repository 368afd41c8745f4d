package repositories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// binDir is the folder of the program, as people run it.
var binDir string

func TestMain(m *testing.M) { os.Exit(withMoult(m)) }

func withMoult(m *testing.M) int {
	dir, err := os.MkdirTemp("", "repositories")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binDir = dir
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "moult"), "github.com/moult-dev/moult/cmd/moult")
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", output, err)
		return 1
	}
	return m.Run()
}

// answer is what the preview says.
type answer struct {
	verdict string
	// all is everything that is printed, with single spaces.
	all string
	// asked tells that the first answer was the command to run.
	asked bool
}

// suggestion is the command that an answer tells to run.
var suggestion = regexp.MustCompile("run `([^`]+)`")

// preview runs the program with a shell, as a person does, and once more with the command that it suggests, if it does.
func preview(tb testing.TB, dir, line string) answer {
	tb.Helper()
	code, out, errOut := shell(tb, dir, line)
	if match := suggestion.FindStringSubmatch(errOut); code == 2 && match != nil {
		again := answered(tb, dir, match[1])
		again.asked = true
		return again
	}
	return read(code, out, errOut)
}

func answered(tb testing.TB, dir, line string) answer {
	tb.Helper()
	code, out, errOut := shell(tb, dir, line)
	return read(code, out, errOut)
}

// read takes an answer from what was printed. The verdict of a preview that failed is error.
func read(code int, out, errOut string) answer {
	var report struct {
		Verdict string `json:"verdict"`
	}
	a := answer{verdict: "error", all: strings.Join(strings.Fields(out+" "+errOut), " ")}
	if json.Unmarshal([]byte(out), &report) == nil && report.Verdict != "" && code != 2 {
		a.verdict = report.Verdict
	}
	return a
}

func shell(tb testing.TB, dir, line string) (code int, out, errOut string) {
	tb.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(tb.Context(), "sh", "-c", line)
	command.Dir, command.Stdout, command.Stderr = dir, &stdout, &stderr
	command.Env = append(os.Environ(), "PATH="+binDir+string(os.PathListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+os.DevNull)
	err := command.Run()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		NewWithT(tb).Expect(err).NotTo(HaveOccurred())
	}
	return command.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// git runs without anybody's configuration.
func git(tb testing.TB, dir string, args ...string) {
	tb.Helper()
	command := exec.CommandContext(tb.Context(), "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	output, err := command.CombinedOutput()
	NewWithT(tb).Expect(err).NotTo(HaveOccurred(), string(output))
}
