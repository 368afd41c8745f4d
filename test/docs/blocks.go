// Package docs reads the fenced blocks of Markdown, for tests that hold the pages to what is true. The tests of
// test/guides play every guide of docs/guides, block by block, on a control plane.
//
// What happens to a block depends on its language and on the HTML comment right before it, its mark:
//
//   - sh is run, and has to succeed.
//   - console is run line by line, where a line begins with "$ ". What is printed has to be what the page shows. Without
//     such a line it shows what the block before has printed.
//   - yaml and other texts are written to the file of the mark: <!-- file: widgets.yaml -->
//   - diff changes the file of the mark: <!-- change: widgets.yaml -->
//   - mermaid is a picture.
//   - Any block is left out where the mark gives the reason: <!-- not run: needs Argo CD -->
//
// A comment <!-- run: … --> has commands that a reader does not see: what stands for a person or another tool.
package docs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Action is what happens to a block.
type Action string

// All actions.
const (
	Run     Action = "run"
	Compare Action = "compare"
	Write   Action = "write"
	Change  Action = "change"
	Nothing Action = "nothing"
)

// Block is a fenced block, or a comment with commands.
type Block struct {
	// Line is where it begins on the page.
	Line int
	// Language stands behind the fence; it is "hidden" of a comment.
	Language, Text string
	// Mark and Argument are the comment before the block: what stands before the colon and behind it.
	Mark, Argument string
}

var parts = regexp.MustCompile("(?ms)^(?: *<!--(.*?)-->|( *)```(\\w*)\n((?:.*?\n)??) *```$)")

// Blocks are the blocks of a page in their order.
func Blocks(page string) (blocks []Block) {
	var mark, argument string
	markEnd := -1
	for _, at := range parts.FindAllStringSubmatchIndex(page, -1) {
		line := 1 + strings.Count(page[:at[0]], "\n")
		if at[2] >= 0 {
			before, after, _ := strings.Cut(page[at[2]:at[3]], ":")
			mark, argument, markEnd = strings.TrimSpace(before), strings.TrimSpace(after), at[1]
			if mark == "run" {
				blocks, markEnd = append(blocks, Block{Line: line, Language: "hidden", Text: argument + "\n"}), -1
			}
			continue
		}
		text := strings.ReplaceAll("\n"+page[at[8]:at[9]], "\n"+page[at[4]:at[5]], "\n")[1:] // in an item of a list it is indented
		b := Block{Line: line, Language: page[at[6]:at[7]], Text: text}
		if markEnd >= 0 && strings.TrimSpace(page[markEnd:at[0]]) == "" {
			b.Mark, b.Argument = mark, argument
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// Action is what the block and its mark ask for.
func (b Block) Action() (Action, error) {
	switch {
	case b.Mark == "not run" && b.Argument == "":
		return "", fmt.Errorf("line %d: <!-- not run: … --> gives no reason", b.Line)
	case b.Mark == "not run", b.Language == "mermaid":
		return Nothing, nil
	case b.Language == "sh", b.Language == "hidden":
		return Run, nil
	case b.Language == "console":
		return Compare, nil
	case b.Mark == "file" && b.Argument != "":
		return Write, nil
	case b.Mark == "change" && b.Argument != "" && b.Language == "diff":
		return Change, nil
	}
	return "", fmt.Errorf("line %d: a block of %q with the mark %q is not played; see the comment of package test/docs", b.Line, b.Language, b.Mark)
}

// Command is one line of a console with what it prints.
type Command struct{ Line, Output string }

// Commands are those of a console. One without a line shows what was printed before.
func (b Block) Commands() (commands []Command) {
	parts := strings.Split("\n"+b.Text, "\n$ ")
	if shown := strings.TrimPrefix(parts[0], "\n"); strings.TrimSpace(shown) != "" {
		commands = append(commands, Command{Output: shown})
	}
	for _, part := range parts[1:] {
		line, output, _ := strings.Cut(part, "\n")
		commands = append(commands, Command{line, output})
	}
	return commands
}

// Apply changes a file as a diff shows it: the lines with a minus become those with a plus, between the lines around them.
// Where lines were left out, a line of the diff is "…".
func (b Block) Apply(file string) (string, error) {
	for hunk := range strings.SplitSeq(b.Text, "…\n") {
		var before, after []string
		for line := range strings.Lines(hunk) {
			switch rest := line[1:]; line[0] {
			case '-':
				before = append(before, rest)
			case '+':
				after = append(after, rest)
			default:
				before, after = append(before, rest), append(after, rest)
			}
		}
		if was := strings.Join(before, ""); strings.Count("\n"+file, "\n"+was) != 1 {
			return "", fmt.Errorf("line %d: these lines are not in the file once, but %d times:\n%s", b.Line, strings.Count("\n"+file, "\n"+was), was)
		}
		file = strings.Replace("\n"+file, "\n"+strings.Join(before, ""), "\n"+strings.Join(after, ""), 1)[1:]
	}
	return file, nil
}

var (
	// changing is what differs from run to run: times of day, dates, durations, ages and hashes.
	changing = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[\d:.]+Z?|\b\d{4}-\d\d-\d\d\b|\b\d\d?:\d\d(:\d\d)?\b|\b(\d+(\.\d+)?(h|m|s|ms|µs|d))+\b|\b[0-9a-f]{40}\b|\b(generation) \d+\b|, \d+/s\b`)
	spaces   = regexp.MustCompile(`\s+`)
)

func plain(text string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(changing.ReplaceAllString(text, "#$5"), " "))
}

// Shows reports whether a page that shows this shows what was printed. Times and the number of spaces may differ, and "…"
// stands for anything.
func Shows(shown, printed string) bool {
	pieces := strings.Split(plain(shown), "…")
	for i, piece := range pieces {
		pieces[i] = regexp.QuoteMeta(strings.TrimSpace(piece))
	}
	return regexp.MustCompile(`^` + strings.Join(pieces, ".*") + `$`).MatchString(plain(printed))
}

// ToTheFirstCRD is the section of docs/install.md that leads to a migrated CRD, and what is before it.
func ToTheFirstCRD(root string) (before, section string, err error) {
	text, err := os.ReadFile(filepath.Join(root, "docs/install.md"))
	if err != nil {
		return "", "", err
	}
	before, section, found := strings.Cut(string(text), "\n## To the first migrated CRD\n")
	section, _, ends := strings.Cut(section, "\n## ")
	if !found || !ends {
		return "", "", errors.New("docs/install.md has no section about the first migrated CRD")
	}
	return before, section, nil
}
