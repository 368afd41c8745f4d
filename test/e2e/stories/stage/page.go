package stage

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/e2e/kubectl"
	"github.com/moult-dev/moult/test/e2e/story"
)

// Page is a page of the repository with commands in it, and below each what it prints.
type Page struct {
	t       *testing.T
	kubectl *kubectl.Kubectl
	shown   []shown
}

// shown is a command of kubectl with its output.
type shown struct{ command, output string }

// NewPage reads a page, named from the root of the repository.
func (s *Stage) NewPage(t *testing.T, name string) *Page {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(Path(name))
	g.Expect(err).NotTo(HaveOccurred())
	k, err := kubectl.New(s.Config, t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	p := &Page{t: t, kubectl: k}
	for _, block := range console.FindAllStringSubmatch(string(content), -1) {
		for _, part := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, output, _ := strings.Cut(part, "\n")
			p.shown = append(p.shown, shown{command, output})
		}
	}
	return p
}

var (
	console = regexp.MustCompile("(?s)```console\n(.*?)\n```")
	// changing is what differs from run to run: counts, ages, times of day, the names of commits.
	changing = regexp.MustCompile(`\b[0-9a-f]{40}\b|\b\d[\w.]*`)
	// rate comes after a while.
	rate = ", #/s"
)

// plain leaves out what differs from run to run, and how the lines are broken.
func plain(output string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(changing.ReplaceAllString(output, "#")), " "), rate, "")
}

// pattern is what the page shows, where … is whatever it leaves out.
func pattern(output string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(plain(output)), "…", ".*") + "$")
}

// Prints is a check: a command of the page prints what the page shows. It is the first one whose command and output contain
// these.
func (p *Page) Prints(command, output string) story.Check {
	p.t.Helper()
	for _, s := range p.shown {
		if strings.Contains(s.command, command) && strings.Contains(s.output, output) {
			shows := pattern(s.output)
			return func(ctx context.Context) (string, bool, error) {
				printed, err := p.kubectl.Line(ctx, s.command)
				return fmt.Sprintf("$ %s\n%s", s.command, printed), err == nil && shows.MatchString(plain(printed)), err
			}
		}
	}
	p.t.Fatalf("the page shows no %q that prints %q", command, output)
	return nil
}
