package docs_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/docs"
)

const page = `# Title

Text with ` + "`code`" + `.

<!-- run:
kubectl get crd
-->
` + "```sh" + `
moult status
` + "```" + `

<!-- file: a/b.yaml -->

` + "```yaml" + `
kind: A
` + "```" + `

1. An item:

   ` + "```console" + `
   first
   $ moult wait
   done
   $ moult plan
` + "   ```" + `
<!-- not run: needs Argo CD -->
` + "```text" + `
` + "```" + `
` + "```text" + `
` + "```" + `
`

func TestBlocksInTheirOrder(t *testing.T) {
	g := NewWithT(t)
	blocks := docs.Blocks(page)
	g.Expect(blocks).To(Equal([]docs.Block{
		{Line: 5, Language: "hidden", Text: "kubectl get crd\n"},
		{Line: 8, Language: "sh", Text: "moult status\n"},
		{Line: 14, Language: "yaml", Text: "kind: A\n", Mark: "file", Argument: "a/b.yaml"},
		{Line: 20, Language: "console", Text: "first\n$ moult wait\ndone\n$ moult plan\n"},
		{Line: 27, Language: "text", Mark: "not run", Argument: "needs Argo CD"},
		{Line: 29, Language: "text"},
	}))
	var actions []docs.Action
	for _, b := range blocks {
		action, err := b.Action()
		actions = append(actions, action)
		g.Expect(err != nil).To(Equal(b.Line == 29), "only what has no mark is neither played nor left out")
	}
	g.Expect(actions).To(Equal([]docs.Action{docs.Run, docs.Run, docs.Write, docs.Compare, docs.Nothing, ""}))
	g.Expect(blocks[3].Commands()).To(Equal([]docs.Command{{"", "first"}, {"moult wait", "done"}, {"moult plan", ""}}))
}

func TestAMarkWithoutAReasonIsNone(t *testing.T) {
	_, err := docs.Block{Language: "sh", Mark: "not run"}.Action()
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("gives no reason")))
}

func TestADiffChangesAFile(t *testing.T) {
	file := "a: 1\nversions:\n  - name: old\n    served: true\n  - name: new\n    served: true\n"
	for name, c := range map[string]struct{ diff, want string }{
		"a line becomes another":       {"   - name: old\n-    served: true\n+    served: false\n", "a: 1\nversions:\n  - name: old\n    served: false\n  - name: new\n    served: true\n"},
		"lines between are left out":   {"-a: 1\n…\n   - name: new\n-    served: true\n", "versions:\n  - name: old\n    served: true\n  - name: new\n"},
		"a line comes in":              {" a: 1\n+b: 2\n", "a: 1\nb: 2\nversions:\n  - name: old\n    served: true\n  - name: new\n    served: true\n"},
		"what is not there is refused": {"-c: 3\n", ""},
		"what is there twice, too":     {"-    served: true\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := docs.Block{Text: c.diff}.Apply(file)
			g.Expect(err != nil).To(Equal(c.want == ""))
			g.Expect(got).To(Equal(c.want))
		})
	}
}

func TestWhatAPageShows(t *testing.T) {
	for name, c := range map[string]struct {
		shown, printed string
		want           bool
	}{
		"ages and spaces differ":     {"NAME  AGE\na  7s\n", "NAME     AGE\na        1m20s\n", true},
		"ages of other units":        {"1m", "3m21s", true},
		"times differ":               {"at 2026-11-25T08:00:00Z it", "at 2027-01-02T03:04:05Z it", true},
		"counts do not":              {"20/20", "19/20", false},
		"a version is not a time":    {"v1", "v2", false},
		"lines are left out":         {"first\n…\nlast", "first\nsecond\nthird\nlast", true},
		"something more was printed": {"first", "first\nsecond", false},
		"points are points":          {"a.b", "axb", false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(docs.Shows(c.shown, c.printed)).To(Equal(c.want))
		})
	}
}
