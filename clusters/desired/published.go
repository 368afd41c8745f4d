package desired

import (
	"path"
	"regexp"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/deciding"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// publishing is a command that puts files into a registry or a bucket, with the lines in which it goes on.
var publishing = regexp.MustCompile(`\b(?:flux|oras|crane|helm|aws|gsutil|gcloud|mc|az)\b[^\n]*?[ \t](?:push|append|sync|cp|mirror|upload(?:-batch)?)\b(?:\\\n|[^\n])*`)

// published adds the commands of this repository that may publish what a source reads, and what they may publish: the files that decide what is
// applied. They name the artifact or the bucket, or have a variable in that place where the artifact is called after the repository.
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
	own := path.Base(strings.TrimSuffix(p.tree.Origin(), ".git"))
	mayBeOurs := strings.Contains(source.Text("spec", "url")+"/", "/"+own+"/")
	for _, file := range p.tree.Texts(mayName) {
		for _, command := range publishing.FindAllString(file.Text, -1) {
			if !strings.Contains(command, "/"+name) && (!mayBeOurs || !strings.Contains(command, "$")) {
				continue
			}
			p.tree.Reads.File(file.File)
			p.Write("publishes", command)
			if named := folderOf.FindStringSubmatch(command); len(named) > 1 && p.tree.Folder(named[1]) != "" {
				p.below(p.tree.Folder(named[1]))
			} else {
				p.Write("repository", p.tree.Repository(files.Wires))
			}
		}
	}
}

// folderOf is the folder that such a command takes, if it stands there as it is.
var folderOf = regexp.MustCompile(`[ \t](?:--path|-f)[= \t]+["']?([\w./-]+)["']?(?:\s|$)`)

// below adds what decides in the files of a folder about what is applied.
func (p *fingerprint) below(dir string) {
	for _, file := range files.In(dir) {
		content, err := render.ReadRegular(file)
		if err != nil || !files.MayWire(file, content) && !detect.GrantsCRDs(content) {
			continue
		}
		p.tree.Reads.File(file)
		p.Write(p.tree.Relative(file), string(deciding.InFile(file, content)))
	}
}
