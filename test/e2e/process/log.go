package process

import (
	"bytes"
	"context"
	"os"
	"strings"
)

// logFile is one run's part of a file that may hold the output of earlier runs.
type logFile struct {
	path  string
	start int64
}

func (l *logFile) open() (*os.File, error) {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	l.start = info.Size()
	return file, nil
}

// read returns what this run has written; nothing when the file cannot be read.
func (l *logFile) read() []byte {
	content, err := os.ReadFile(l.path)
	if err != nil || int64(len(content)) < l.start {
		return nil
	}
	return content[l.start:]
}

// Logged reports whether the process has written the text; made for Await.
func (p *Process) Logged(text string) func(context.Context) bool {
	return func(context.Context) bool { return bytes.Contains(p.log.read(), []byte(text)) }
}

// Tail is the last lines of the log, headed by the file's name.
func (p *Process) Tail(lines int) string {
	if p == nil {
		return ""
	}
	all := strings.Split(strings.TrimRight(string(p.log.read()), "\n"), "\n")
	last := all[max(0, len(all)-lines):]
	return "--- " + p.log.path + "\n" + strings.Join(last, "\n") + "\n"
}
