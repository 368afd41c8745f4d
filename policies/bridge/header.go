package bridge

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/policies/words"
)

// headerWidth is where the lines of the header are broken.
const headerWidth = 99

// Header is a comment to put above the CRD: what it is, and what to do with it. From and to are the two states, as the
// caller calls them.
func (b *Bridge) Header(from, to string) string {
	back := strings.Join(b.Back, ", ")
	var text strings.Builder
	say := func(first, sentence string) {
		text.WriteString(words.Wrap("# "+first, "# "+strings.Repeat(" ", len(first)), sentence, headerWidth) + "\n")
	}
	put := fmt.Sprintf("with %s put back", back)
	if back == "" {
		put = fmt.Sprintf("which stores at %s as before", b.Kept)
	}
	say("", fmt.Sprintf("%s on the way from %s to %s: the new CRD, %s.", b.CRD.Name, from, to, put))
	say("", "")
	say("1. ", "Commit this in place of the CRD, without a VersionRemoval, and let it be applied.")
	if b.Kept != "" {
		say("   ", fmt.Sprintf("Objects stay stored at %s. Then set storage: true at %s, and false at %[1]s, in a commit of its own.", b.Kept, b.Storage))
	}
	say("2. ", fmt.Sprintf("Wait until Moult has rewritten every object at %s: `moult status` says Migrated.", b.Storage))
	if back == "" {
		say("3. ", "Commit the new CRD.")
	} else {
		b.removing(say, &text, back)
	}
	if len(b.Notes) > 0 {
		say("", "")
	}
	for _, note := range b.Notes {
		say("- ", note+".")
	}
	return text.String()
}

// removing are the steps that let versions go which were put back.
func (b *Bridge) removing(say func(first, sentence string), text *strings.Builder, back string) {
	say("3. ", fmt.Sprintf("Convert manifests in Git to %s, with this file in place of FILE:", b.Storage))
	text.WriteString(b.rewriting())
	say("4. ", fmt.Sprintf("Commit the new CRD, and a VersionRemoval for %s in an earlier wave or dependency.", back))
}

// rewriting is the command that converts manifests, in a line that can be copied. The versions that were put back are served,
// and nothing may have marked them as deprecated, so they have to be named.
func (b *Bridge) rewriting() string {
	return fmt.Sprintf("#        moult rewrite . --crds FILE --crd %s --from %s\n", b.CRD.Name, strings.Join(b.Back, ","))
}
