package output

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/policies/conversion"
	preview "github.com/moult-dev/moult/policies/preview/output"
	"github.com/moult-dev/moult/policies/words"
)

const (
	// whatWidth and nameWidth are the most characters of somebody else's text in Markdown.
	whatWidth, nameWidth = 300, 100
	// mostRows is how many rows a table has: a comment on a pull request is short.
	mostRows = 50
	// mostShown is how many counter-examples of a CRD are shown.
	mostShown = 5
)

// Findings are what a conversion does to objects, in the words of the command that looked.
type Findings struct {
	// Heading is above a comment on a pull request, and Sentence is the answer.
	Heading, Sentence string
	Sections          []Section
	// Rest is what JUnit calls the rest: what is not known beside the CRDs, and what is accepted and was not found.
	Rest    string
	Unknown []string
	Unused  []conversion.Accepted
}

// Section is about the objects of a CRD.
type Section struct {
	CRD string
	// Title is a line of text, and Markdown the same as Markdown. For JUnit it is the Suite, and what is said of All objects.
	Title, Markdown, Suite, All string
	// Entries are the worst first, and Notes are sentences below them.
	Entries []Entry
	Notes   []string
}

// Entry is what is said of some objects.
type Entry struct {
	// Say is what becomes of them. It is OurWords if nothing of it is somebody else's text.
	Say      string
	OurWords bool
	// Path is where, and What is that with all that is known about it, in one line.
	Path, What string
	// Fails reports whether it holds something up, and Unknown whether it could not be looked at.
	Fails, Unknown bool
	// Objects is how many there are, Examples are some of them, and Smallest is a manifest that shows it; it may be empty.
	Objects  int64
	Examples []string
	Smallest string
}

// ReportOf prints the findings of a report.
func ReportOf[R any](findings func(R) Findings) Report[R] {
	return Report[R]{
		Text:     func(r R) string { return findings(r).Text() },
		Markdown: func(r R) string { return findings(r).Markdown() },
		JUnit:    func(r R) Suites { return findings(r).JUnit() },
	}
}

// objects are how many there are, and some of them.
func (e *Entry) objects() string {
	if len(e.Examples) == 0 {
		return ""
	}
	more := ""
	if rest := e.Objects - int64(len(e.Examples)); rest > 0 {
		more = fmt.Sprintf(" and %d more", rest)
	}
	return words.Count(e.Objects, "object") + ": " + words.Line(strings.Join(e.Examples, ", ")) + more
}

// Text is for people.
func (f Findings) Text() string {
	var content strings.Builder
	for i := range f.Sections {
		f.Sections[i].text(&content)
	}
	for _, why := range f.Unknown {
		fmt.Fprintf(&content, "not known: %s\n", words.Line(why))
	}
	for _, a := range f.Unused {
		fmt.Fprintf(&content, "accepted and not found: %s of %s (%s)\n", a.Path, a.CRD, a.Reason)
	}
	fmt.Fprintf(&content, "%s\n", f.Sentence)
	return content.String()
}

func (s *Section) text(content *strings.Builder) {
	fmt.Fprintf(content, "%s\n", s.Title)
	shown, left := 0, 0
	for _, e := range s.Entries {
		fmt.Fprintf(content, "  %s: %s\n", e.Say, e.What)
		if named := e.objects(); named != "" {
			fmt.Fprintf(content, "    %s\n", named)
		}
		switch {
		case e.Smallest == "":
		case shown < mostShown:
			shown++
			content.WriteString("    the smallest:\n")
			for line := range strings.Lines(e.Smallest) {
				content.WriteString("      " + line)
			}
		default:
			left++
		}
	}
	if left > 0 {
		fmt.Fprintf(content, "  -o yaml prints the smallest objects of %d more\n", left)
	}
	for _, note := range s.Notes {
		fmt.Fprintf(content, "  %s\n", note)
	}
}

// Markdown is a comment on a pull request: a table for each CRD of which something is said.
func (f Findings) Markdown() string {
	var content strings.Builder
	fmt.Fprintf(&content, "### %s\n\n%s.\n", f.Heading, strings.ToUpper(f.Sentence[:1])+f.Sentence[1:])
	for i := range f.Sections {
		f.Sections[i].table(&content)
	}
	for _, s := range f.Sections {
		shown := 0
		for _, e := range s.Entries {
			if e.Smallest != "" && e.Fails && shown < mostShown {
				shown++
				manifest := strings.ReplaceAll(e.Smallest, "`", "'") // it stays in its block
				fmt.Fprintf(&content, "\nThe smallest that shows it: %s\n\n```yaml\n%s```\n", preview.CodeSpan(e.Say+": "+e.Path, whatWidth), manifest)
			}
		}
		for _, note := range s.Notes {
			fmt.Fprintf(&content, "\n%s\n", preview.CodeSpan(s.CRD+": "+note, whatWidth))
		}
	}
	for _, why := range f.Unknown {
		fmt.Fprintf(&content, "\nNot known: %s\n", preview.CodeSpan(words.Line(why), whatWidth))
	}
	for _, a := range f.Unused {
		fmt.Fprintf(&content, "\nAccepted and not found: %s of %s (%s)\n",
			preview.CodeSpan(a.Path, whatWidth), preview.CodeSpan(a.CRD, nameWidth), preview.CodeSpan(a.Reason, whatWidth))
	}
	return content.String()
}

func (s *Section) table(content *strings.Builder) {
	fmt.Fprintf(content, "\n%s\n", s.Markdown)
	if len(s.Entries) > 0 {
		content.WriteString("\n| | what | objects | for example |\n|---|---|---:|---|\n")
	}
	for i, e := range s.Entries {
		if i == mostRows {
			fmt.Fprintf(content, "| | and %d more | | |\n", len(s.Entries)-i)
			break
		}
		say := e.Say
		if !e.OurWords {
			say = preview.CodeSpan(say, whatWidth)
		}
		if e.Fails {
			say = "**" + say + "**"
		}
		examples := words.Of(e.Examples, func(name string) string { return preview.CodeSpan(name, nameWidth) })
		fmt.Fprintf(content, "| %s | %s | %d | %s |\n", say, preview.CodeSpan(e.What, whatWidth), e.Objects, strings.Join(examples, ", "))
	}
}

// JUnit has a suite for each CRD, with a case for all of its objects and one for all that is said of some.
func (f Findings) JUnit() (all Suites) {
	for i := range f.Sections {
		all.Suites = append(all.Suites, f.Sections[i].suite())
	}
	if len(f.Unknown)+len(f.Unused) > 0 {
		s := Suite{Name: f.Rest}
		for _, why := range f.Unknown {
			s.Add(Case{Class: s.Name, Name: words.Line(why), Error: &Problem{Message: words.Line(why)}})
		}
		for _, a := range f.Unused {
			s.Add(Case{Class: a.CRD, Name: "accepted and not found: " + a.Path, Out: a.Reason})
		}
		all.Suites = append(all.Suites, s)
	}
	return all
}

func (s *Section) suite() Suite {
	suite := Suite{Name: s.Suite}
	suite.Add(Case{Class: s.CRD, Name: "objects", Out: strings.Join(append([]string{s.All}, s.Notes...), "\n")})
	for _, e := range s.Entries {
		one := Case{Class: s.CRD, Name: e.Say + ": " + words.Line(e.Path)}
		problem := &Problem{Message: e.Say + ": " + e.What, Text: strings.TrimSuffix(e.objects()+"\n"+e.Smallest, "\n")}
		switch {
		case e.Unknown:
			one.Error = problem
		case e.Fails:
			one.Failure = problem
		default:
			one.Out = problem.Message + "\n" + problem.Text
		}
		suite.Add(one)
	}
	return suite
}
