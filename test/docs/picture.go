package docs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// GitHub draws Mermaid; the site runs no programs of others, so its pictures are drawn here. It takes of Mermaid what the
// pages use: a flowchart of boxes and arrows with texts, from left to right.

// PictureFile is the file of a picture, by its text.
func PictureFile(text string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return hex.EncodeToString(sum[:])[:16] + ".svg"
}

type box struct {
	lines                []string
	column               int
	x, y, width, height  int
	right, middle, under int
}

type arrow struct {
	from, to     *box
	text         string
	back, dotted bool
}

type picture struct {
	boxes  map[string]*box
	order  []*box
	arrows []arrow
}

var (
	node = regexp.MustCompile(`^ *(\w+)(?:\[\((.*?)\)\]|\[(.*?)\]|\{(.*?)\})?`)
	link = regexp.MustCompile(`^ (?:-- (.*?) -->|-->|-\. (.*?) \.->) `)
)

// Draw is a picture as SVG.
func Draw(text string) (string, error) {
	p := picture{boxes: map[string]*box{}}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if lines[0] != "flowchart LR" {
		return "", fmt.Errorf("%q is not drawn, only flowchart LR", lines[0])
	}
	for _, line := range lines[1:] {
		if err := p.read(line); err != nil {
			return "", err
		}
	}
	return p.svg(), nil
}

// read takes a chain of boxes and arrows.
func (p *picture) read(line string) error {
	var from *box
	var between []string
	for rest := line; ; {
		at := node.FindStringSubmatch(rest)
		if at == nil {
			return fmt.Errorf("no box begins at %q", rest)
		}
		to := p.box(at[1], cmp.Or(at[2], at[3], at[4]))
		if from != nil {
			p.arrows = append(p.arrows, arrow{from: from, to: to, text: strings.Trim(cmp.Or(between[1], between[2]), `"`), back: p.leads(to, from), dotted: between[2] != ""})
		}
		rest = rest[len(at[0]):]
		if from, between = to, link.FindStringSubmatch(rest); between == nil {
			if rest != "" {
				return fmt.Errorf("no arrow begins at %q", rest)
			}
			return nil
		}
		rest = rest[len(between[0]):]
	}
}

func (p *picture) box(id, text string) *box {
	if p.boxes[id] == nil {
		p.boxes[id] = &box{}
		p.order = append(p.order, p.boxes[id])
	}
	if text != "" {
		p.boxes[id].lines = strings.Split(strings.Trim(text, `"`), "<br>")
	}
	return p.boxes[id]
}

// leads reports whether arrows lead from one box to another.
func (p *picture) leads(from, to *box) bool {
	return from == to || slices.ContainsFunc(p.arrows, func(a arrow) bool { return !a.back && a.from == from && p.leads(a.to, to) })
}

const (
	letter, line, margin, gap = 7, 18, 10, 26
)

func widest(texts []string) (width int) {
	for _, text := range texts {
		width = max(width, letter*utf8.RuneCountInString(text))
	}
	return width
}

// place gives each box its column, behind all that lead to it, and its row, in the order of the text.
func (p *picture) place() (width, height int) {
	for range p.order {
		for _, a := range p.arrows {
			if !a.back {
				a.to.column = max(a.to.column, a.from.column+1)
			}
		}
	}
	x := margin
	for column := 0; ; column++ {
		var texts, labels []string
		y := margin
		for _, b := range p.order {
			if b.column == column {
				b.y, b.height = y, line*len(b.lines)+margin
				y += b.height + gap
				texts = append(texts, b.lines...)
			}
		}
		if texts == nil {
			return x, height + 2*gap
		}
		for _, a := range p.arrows {
			if a.from.column == column || a.back && a.to.column == column {
				labels = append(labels, a.text)
			}
		}
		for _, b := range p.order {
			if b.column == column {
				b.x, b.width = x, widest(texts)+2*margin
				b.right, b.middle, b.under = b.x+b.width, b.y+b.height/2, b.y+b.height
			}
		}
		x += widest(texts) + 2*margin + max(widest(labels)+gap, 2*gap)
		height = max(height, y)
	}
}

func (p *picture) svg() string {
	width, height := p.place()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %d %d" width="%[1]d">`, width, height)
	for _, a := range p.arrows {
		dashes := ""
		if a.dotted {
			dashes = ` stroke-dasharray="4 4"`
		}
		if a.back {
			x1, x2, y := a.from.x+a.from.width/2, a.to.x+a.to.width/2, max(a.from.under, a.to.under)+gap
			fmt.Fprintf(&b, `<path d="M%[1]d %[2]d C%[1]d %[3]d %[4]d %[3]d %[4]d %[5]d"%[6]s/><path class="head" d="M%[4]d %[5]d l-4 8 h8 z"/>`, x1, a.from.under, y, x2, a.to.under, dashes)
			fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`, (x1+x2)/2, y+gap/4, html.EscapeString(a.text))
			continue
		}
		bend := (a.to.x - a.from.right) / 2
		fmt.Fprintf(&b, `<path d="M%[1]d %[2]d C%[3]d %[2]d %[4]d %[5]d %[6]d %[5]d"%[7]s/><path class="head" d="M%[6]d %[5]d l-8 -4 v8 z"/>`, a.from.right, a.from.middle, a.from.right+bend, a.to.x-bend, a.to.middle, a.to.x, dashes)
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`, (a.from.right+a.to.x)/2, (a.from.middle+a.to.middle)/2-5, html.EscapeString(a.text))
	}
	for _, at := range p.order {
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" rx="6"/>`, at.x, at.y, at.width, at.height)
		for i, text := range at.lines {
			fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`, at.x+at.width/2, at.y+margin/2+line*i+line-5, html.EscapeString(text))
		}
	}
	return b.String() + "</svg>"
}
