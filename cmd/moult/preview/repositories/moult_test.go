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

	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	previewcmd "github.com/moult-dev/moult/cmd/moult/preview"
	"github.com/moult-dev/moult/test/programs"
)

// binDir is the folder of the program, as people run it.
var binDir string

func TestMain(m *testing.M) {
	moult, err := programs.Path("moult")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binDir = filepath.Dir(moult)
	os.Setenv("KUBECONFIG", os.DevNull)
	os.Exit(m.Run())
}

// answer is what the preview says.
type answer struct {
	verdict string
	// all is everything that is printed, with single spaces.
	all string
	// asked is whether the first answer was the command to run.
	asked bool
}

// suggestion is the command that an answer names.
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

// judged previews two folders in this process: the tests ask for hundreds of answers, and to start a program for each takes
// longer than the answer.
func judged(tb testing.TB, base, head string) answer {
	tb.Helper()
	moult := clitest.Moult{previewcmd.NewCommand}
	got := moult.Run(tb, "preview", "--base", base, "--head", head, "-o", "json")
	if match := suggestion.FindStringSubmatch(got.ErrOut); got.Code == 2 && match != nil {
		got = moult.Run(tb, strings.Fields(match[1])[1:]...)
	}
	return read(got.Code, got.Out, got.ErrOut)
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
	programs.Tested()
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
