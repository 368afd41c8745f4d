package stage

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/test/docs"
	"github.com/moult-dev/moult/test/e2e/story"
)

// Guide is a page of docs, of which a story takes what its reader writes, changes and runs. What a page runs in the cluster in
// place of Argo CD or Flux is left out, since a real tool applies the commits here.
type Guide struct {
	*Shell
	text   string
	blocks []docs.Block
	next   int // the first block that Commit or PlayTo has not played
	lines  []string
	line   int // PlayTo has played the lines before it
}

// OpenGuide begins a page, named from docs. Its commands find the clusters as contexts.
func OpenGuide(t *testing.T, page string, clusters map[string]*rest.Config) *Guide {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(Path("docs/" + page))
	g.Expect(err).NotTo(HaveOccurred())
	return &Guide{Shell: NewShell(t, t.TempDir(), clusters), text: string(text), lines: strings.Split(string(text), "\n"), blocks: docs.Blocks(string(text))}
}

// Block is the text of the first block in a language that contains another text.
func (d *Guide) Block(language, text string) string {
	d.t.Helper()
	for _, block := range d.blocks {
		if block.Language == language && strings.Contains(block.Text, text) {
			return block.Text
		}
	}
	d.t.Fatalf("the page has no block of %s with %q", language, text)
	return ""
}

// code is what stands in the text in the type of a typewriter.
var code = regexp.MustCompile("`([^`\n]+)`")

// Line is the first command of the page that begins so: a line of a block, or one in the text.
func (d *Guide) Line(begins string) string {
	d.t.Helper()
	for line := range strings.Lines(d.text) {
		if strings.HasPrefix(line, begins) {
			return strings.TrimSpace(line)
		}
		for _, span := range code.FindAllStringSubmatch(line, -1) {
			if strings.HasPrefix(span[1], begins) {
				return span[1]
			}
		}
	}
	d.t.Fatalf("the page has no command that begins with %q", begins)
	return ""
}

// Prints is a check: a command that begins so prints what the page shows below it.
func (d *Guide) Prints(begins string) story.Check {
	d.t.Helper()
	for _, block := range d.blocks {
		if block.Language != "console" {
			continue
		}
		for _, command := range block.Commands() {
			if strings.HasPrefix(command.Line, begins) {
				return d.shows(command)
			}
		}
	}
	d.t.Fatalf("the page shows no command that begins with %q", begins)
	return nil
}

func (d *Guide) shows(command docs.Command) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		printed, _ := d.Run(ctx, command.Line) // what a command complains about is on the page, too
		return fmt.Sprintf("$ %s\n%s", command.Line, printed), docs.Shows(command.Output, printed), nil
	}
}

// Commit plays the page to its next commit. The content of the commit is in the folder that it returns, with texts replaced,
// in pairs: addresses that a test serves itself.
func (d *Guide) Commit(replaced ...string) (folder string) {
	d.t.Helper()
	if d.next == 0 {
		NewWithT(d.t).Expect(os.CopyFS(filepath.Join(d.folder, "charts"), os.DirFS(Path(chartsFolder)))).To(Succeed())
	}
	for d.next < len(d.blocks) {
		block := d.blocks[d.next]
		d.next++
		if d.play(block) {
			return d.Repository(replaced...)
		}
	}
	d.t.Fatal("the page has no more commit")
	return ""
}

// play reports whether the block has made a commit.
func (d *Guide) play(block docs.Block) (committed bool) {
	d.t.Helper()
	action, err := block.Action()
	NewWithT(d.t).Expect(err).NotTo(HaveOccurred())
	switch {
	case action == docs.Write:
		d.write(block.Argument, block.Text)
	case action == docs.Change:
		was, err := os.ReadFile(filepath.Join(d.folder, block.Argument))
		NewWithT(d.t).Expect(err).NotTo(HaveOccurred())
		changed, err := block.Apply(string(was))
		NewWithT(d.t).Expect(err).NotTo(HaveOccurred())
		d.write(block.Argument, changed)
	case action == docs.Run && strings.Contains(block.Text, "git ") && !strings.Contains(block.Text, "kubectl"):
		d.MustRun(block.Text)
		return strings.Contains(block.Text, "commit")
	}
	return false
}

// PlayTo plays what comes before the next line of the page that begins so. Where a command runs the program apply-crds, it
// waits for a commit.
func (d *Guide) PlayTo(begins string, s *story.Story, commit func()) {
	d.t.Helper()
	end := d.line + slices.IndexFunc(d.lines[d.line:], func(line string) bool { return strings.HasPrefix(line, begins) })
	NewWithT(d.t).Expect(end).To(BeNumerically(">=", d.line), "the page has no further line that begins with %q", begins)
	for ; d.next < len(d.blocks) && d.blocks[d.next].Line <= end; d.next++ {
		d.follow(d.blocks[d.next], s, commit)
	}
	d.line = end + 1
}

func (d *Guide) follow(block docs.Block, s *story.Story, commit func()) {
	d.t.Helper()
	switch action, _ := block.Action(); action {
	case docs.Run:
		s.Say("$ %s\n%s", block.Text, d.runCommitting(block.Text, commit))
	case docs.Compare:
		for _, command := range block.Commands() {
			s.Await(fmt.Sprintf("line %d", block.Line), Patience, d.shows(command))
		}
	case docs.Write, docs.Change:
		d.play(block)
	case docs.Nothing:
	}
}

// runCommitting is MustRun for commands with commits in between.
func (d *Guide) runCommitting(commands string, commit func()) (printed string) {
	d.t.Helper()
	g, ended := NewWithT(d.t), make(chan error, 1)
	go func() {
		var err error
		printed, err = d.Run(d.t.Context(), `PATH="$PWD/steps:$PATH"; `+commands)
		ended <- err
	}()
	waits := filepath.Join(d.folder, syncing)
	for {
		select {
		case err := <-ended:
			g.Expect(err).NotTo(HaveOccurred(), "%s\n%s", commands, printed)
			return printed
		case <-time.After(story.Pace):
			if _, err := os.Stat(waits); err == nil {
				commit()
				g.Expect(os.Remove(waits)).To(Succeed())
			}
		}
	}
}

// file is a file of the reader.
func (d *Guide) file(name string) string {
	d.t.Helper()
	content, err := os.ReadFile(filepath.Join(d.folder, name))
	NewWithT(d.t).Expect(err).NotTo(HaveOccurred())
	return string(content)
}

func (d *Guide) write(name, text string) {
	d.t.Helper()
	name = filepath.Join(d.folder, name)
	NewWithT(d.t).Expect(os.MkdirAll(filepath.Dir(name), 0o750)).To(Succeed())
	NewWithT(d.t).Expect(os.WriteFile(name, []byte(text), 0o600)).To(Succeed())
}

// Repository is a copy of what the repository of the page holds, without the charts and without Git's own files, with texts
// replaced, in pairs.
func (d *Guide) Repository(replaced ...string) (folder string) {
	d.t.Helper()
	repository, copied, replacer := filepath.Join(d.folder, "gitops"), d.t.TempDir(), strings.NewReplacer(replaced...)
	NewWithT(d.t).Expect(filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(repository, path)
		if entry.IsDir() && (name == ".git" || name == "charts") {
			return fs.SkipDir
		}
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name = filepath.Join(copied, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, []byte(replacer.Replace(string(content))), 0o644)
	})).To(Succeed())
	return copied
}
