package desired

import (
	"path"
	"regexp"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/policies/delivery"
)

// publishing is a command that puts files into a registry or a bucket, with the lines in which it goes on.
var publishing = regexp.MustCompile(`\b(?:flux|oras|crane|helm|aws|gsutil|gcloud|mc|az)\b[^\n]*?[ \t](?:push|append|sync|cp|mirror|upload(?:-batch)?)\b(?:\\\n|[^\n])*`)

// published adds the commands of this repository that may publish what a source reads, and what they may publish: the files that decide what is
// applied. Which folder they take may be in a variable.
func (p *fingerprint) published(source *delivery.Object) {
	name := path.Base(source.Text("spec", "url"))
	switch {
	case p.tree == nil:
		return
	case source.Is("source.toolkit.fluxcd.io", "OCIRepository"):
	case source.Is("source.toolkit.fluxcd.io", "Bucket"):
		name = source.Text("spec", "bucketName")
	default:
		return
	}
	isPublished := false
	for _, file := range p.tree.Texts(mayName) {
		for _, command := range publishing.FindAllString(file.Text, -1) {
			if strings.Contains(command, name) || strings.Contains(command, "$") {
				p.tree.Reads.File(file.File)
				p.Write("publishes", command)
				isPublished = true
			}
		}
	}
	if isPublished {
		p.Write("repository", p.tree.Repository(files.Wires))
	}
}
