package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// results passes on what go test prints, package by package, and remembers how long each took.
type results struct {
	out     io.Writer
	skipped []string // lines

	mu       sync.Mutex
	packages []result
}

type result struct {
	name   string
	failed bool
	took   time.Duration
}

// ended is the line with which go test ends what it prints of a package: "ok  	example.com/a	1.234s".
var ended = regexp.MustCompile(`^(ok|FAIL|\?) *\t(\S+)(?:\t([0-9.]+s))?`)

// read reads what one go test prints until it ends. Several may be read at once: the lines of one package stay together.
func (r *results) read(from io.Reader) error {
	var lines strings.Builder
	for in := bufio.NewReader(from); ; {
		line, err := in.ReadString('\n')
		lines.WriteString(line)
		if found := ended.FindStringSubmatch(line); found != nil || err != nil {
			r.add(lines.String(), found)
			lines.Reset()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *results) add(lines string, found []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = io.WriteString(r.out, lines)
	if found == nil {
		return
	}
	took, _ := time.ParseDuration(found[3]) // none if it came from the cache or did not compile
	r.packages = append(r.packages, result{name: strings.TrimPrefix(found[2], module), failed: found[1] == "FAIL", took: took})
}

// summary is the end: how many packages, how long, and which were slowest.
func (r *results) summary(took time.Duration) {
	failed := 0
	for _, p := range r.packages {
		if p.failed {
			failed++
		}
	}
	slices.SortFunc(r.packages, func(a, b result) int { return int(b.took - a.took) })
	fmt.Fprintf(r.out, "\n%d packages, %d failed, in %s; the slowest:\n", len(r.packages), failed, took.Round(time.Second))
	for _, p := range r.packages[:min(10, len(r.packages))] {
		fmt.Fprintf(r.out, "  %-32s %6.1f s\n", p.name, p.took.Seconds())
	}
	for _, what := range r.skipped {
		fmt.Fprintf(r.out, "left to make test-full: %s\n", what)
	}
	for _, p := range r.packages {
		if p.failed {
			fmt.Fprintf(r.out, "failed: %s\n", p.name)
		}
	}
}

// left are the tests that a run leaves to others, a line for each package of long ones.
func left() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(long)) {
		lines = append(lines, fmt.Sprintf("PARTS=long, %d of %s", len(long[name]), name))
	}
	return append(lines, hours...)
}
