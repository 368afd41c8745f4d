package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

const (
	textWidth = 76 // of a step, before its duration
	barWidth  = 30

	bold, dim, green, red, plain = "\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[0m"
	clearLine                    = "\r\033[K"
)

// teller writes the story: one line per step, and on a terminal colours and a live line for the step under way.
type teller struct {
	out    io.Writer
	live   bool // may draw over the last line
	colour bool
	width  int
	// lastLines are shown beside a failure.
	lastLines func() []string
}

func newTeller(out io.Writer) *teller {
	t := &teller{out: out, width: 100, lastLines: func() []string { return nil }}
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return t
	}
	t.live, t.colour = true, os.Getenv("NO_COLOR") == ""
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		t.width = min(width, t.width)
	}
	return t
}

func (t *teller) say(format string, args ...any) {
	t.clear()
	fmt.Fprintf(t.out, format+"\n", args...)
}

func (t *teller) title(text string) { t.say("%s", t.paint(bold, text)) }

func (t *teller) chapter(text string) { t.say("%s", t.paint(bold, text)) }

// done is a step that has ended well, with how long it took if that is worth telling.
func (t *teller) done(took time.Duration, format string, args ...any) {
	text, duration := fmt.Sprintf(format, args...), ""
	if took >= 50*time.Millisecond {
		duration = fmt.Sprintf(" %5.1f s", took.Seconds())
		text = fmt.Sprintf("%-*s", textWidth, text)
	}
	t.say("  %s %s%s", t.paint(green, "✓"), text, t.paint(dim, duration))
}

// refused is a step that the API server does not allow, with its words.
func (t *teller) refused(step, words string) {
	t.say("  %s %s", t.paint(red, "✗"), step)
	t.quote(words)
}

// detail belongs to the step before it: a name and what is found under it.
func (t *teller) detail(name, format string, args ...any) {
	t.say("      %-16s %s", name, fmt.Sprintf(format, args...))
}

// quote shows somebody else's words, in lines that fit on a terminal.
func (t *teller) quote(words string) {
	lines := []string{words}
	if t.live {
		lines = wrap(words, t.width-8)
	}
	for _, line := range lines {
		t.say("      %s", t.paint(dim, line))
	}
}

// now is what is happening, redrawn in place. Where nothing can be redrawn it is not told.
func (t *teller) now(format string, args ...any) {
	if !t.live {
		return
	}
	line := []rune(fmt.Sprintf("  · "+format, args...))
	fmt.Fprint(t.out, clearLine+string(line[:min(len(line), t.width-1)]))
}

func (t *teller) clear() {
	if t.live {
		fmt.Fprint(t.out, clearLine)
	}
}

func (t *teller) failed(err error) {
	t.say("\n  %s %s", t.paint(red, "✗"), err)
	lines := t.lastLines()
	if len(lines) == 0 {
		return
	}
	t.say("\nThe last lines of moult-controller's log:")
	for _, line := range lines {
		t.say("  %s", line)
	}
}

func (t *teller) paint(colour, text string) string {
	if !t.colour || text == "" {
		return text
	}
	return colour + text + plain
}

func bar(done, total int) string {
	filled := barWidth * done / max(total, 1)
	return strings.Repeat("█", filled) + strings.Repeat("░", barWidth-filled)
}

func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
