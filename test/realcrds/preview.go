package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moult-dev/moult/policies/preview"
)

// answer is what the preview says of a repository, and what that costs.
type answer struct {
	report preview.Report
	// seen is how many CRDs lie in the files of the head.
	seen int
	// visible is how many lines of the comment a reader sees who unfolds nothing, and size is its bytes.
	visible, size int
	took          time.Duration
	// memory is the most that was resident at once, in bytes.
	memory int64
}

// What a preview of a repository may take on two cores.
const (
	mostTime    = 5 * time.Second
	mostMemory  = 500 << 20
	mostVisible = 150
)

// beyond tells which limits an answer is over.
func (a answer) beyond() (over []string) {
	if a.took > mostTime {
		over = append(over, fmt.Sprintf("took %s, more than %s", a.took.Round(10*time.Millisecond), mostTime))
	}
	if a.memory > mostMemory {
		over = append(over, fmt.Sprintf("took %d MB of memory, more than %d", a.memory>>20, mostMemory>>20))
	}
	if a.visible > mostVisible {
		over = append(over, fmt.Sprintf("has a comment of %d visible lines, more than %d", a.visible, mostVisible))
	}
	return over
}

// program is moult, built.
type program struct{ file string }

// preview runs `moult preview` in a repository as a person does: with no flag but for where the answer goes.
func (p program) preview(ctx context.Context, repository string) (a answer, err error) {
	out, err := os.MkdirTemp("", "realcrds-answer")
	if err != nil {
		return a, err
	}
	defer os.RemoveAll(out)
	report, comment := filepath.Join(out, "report.json"), filepath.Join(out, "comment.md")
	command := exec.CommandContext(ctx, p.file, "preview", "-o", "json="+report, "-o", "markdown="+comment)
	command.Dir = repository
	command.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull)
	var errOut bytes.Buffer
	command.Stderr = &errOut
	started := time.Now()
	err = command.Run()
	a.took = time.Since(started)
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) && slices.Contains([]int{1, 3, 4}, exited.ExitCode()) {
		err = nil // a verdict
	}
	if err != nil {
		return a, fmt.Errorf("moult preview: %w: %s", err, errOut.String())
	}
	if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		a.memory = usage.Maxrss << 10
	}
	return a, a.read(report, comment, errOut.String())
}

// compared is the line that tells how many CRDs were looked at.
var compared = regexp.MustCompile(`(\d+) in --base and (\d+) in --head`)

func (a *answer) read(report, comment, said string) error {
	match := compared.FindStringSubmatch(said)
	if match == nil {
		return fmt.Errorf("moult preview does not say how many CRDs it has compared: %s", said)
	}
	var err error
	if a.seen, err = strconv.Atoi(match[2]); err != nil {
		return err
	}
	content, err := os.ReadFile(report)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, &a.report); err != nil {
		return err
	}
	if content, err = os.ReadFile(comment); err != nil {
		return err
	}
	a.size, a.visible = len(content), visible(string(content))
	return nil
}

// visible counts the lines of Markdown that are not empty and not folded.
func visible(markdown string) (lines int) {
	folds := 0
	for line := range strings.Lines(markdown) {
		text := strings.TrimSpace(line)
		if folds == 0 && text != "" && !strings.HasPrefix(text, "<!--") {
			lines++
		}
		folds += strings.Count(text, "<details") - strings.Count(text, "</details>")
	}
	return lines
}
