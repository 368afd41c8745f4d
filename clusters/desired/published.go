package desired

import (
	"cmp"
	"errors"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/deciding"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/desired/madeof"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// publishing is a command that puts files into a registry or a bucket, with the lines in which it goes on.
var publishing = regexp.MustCompile(`\b(?:flux|oras|crane|helm|aws|gsutil|gcloud|mc|az)\b[^\n]*?[ \t](?:push|append|sync|cp|mirror|upload(?:-batch)?)\b(?:\\\n|[^\n])*`)

// published adds the commands of this repository that may publish what an object takes from a registry or a bucket. They name the artifact, what is
// around it or the bucket, or have a variable in that place. What they may publish is added, too: the files that decide what is applied.
func (p *fingerprint) published(o *delivery.Object) {
	if p.tree == nil {
		return
	}
	own := "/" + path.Base(strings.TrimSuffix(p.tree.Origin(), ".git")) + "/"
	for _, address := range p.addresses(o) {
		for _, file := range p.tree.Texts(mayName) {
			isNamed := strings.Contains(address+"/", own) || strings.Contains(file.Text, "/"+path.Base(address))
			for _, command := range publishing.FindAllString(file.Text, -1) {
				if !names(command, address) && (!isNamed || !strings.Contains(command, "$")) {
					continue
				}
				p.tree.Reads.File(file.File)
				p.Write("publishes", strings.Join(append(around(command, file.Text), command), "\n"))
				dir := p.tree.Root
				if named := folderOf.FindStringSubmatch(command); len(named) > 1 && !moving.MatchString(file.Text) {
					dir = cmp.Or(p.tree.Folder(named[1]), dir)
				}
				p.Write("published", p.below(dir))
			}
		}
	}
}

// names reports whether a command names an address, or the place around it in a registry.
func names(command, address string) bool {
	around := strings.TrimPrefix(path.Dir(address), "oci:/")
	return strings.Contains(command, "/"+path.Base(address)) || strings.HasPrefix(address, "oci://") && strings.Count(around, "/") > 1 && strings.Contains(command, around)
}

// addresses are where an object takes something from a registry or a bucket, by a name that may be given to something else.
func (p *fingerprint) addresses(o *delivery.Object) (found []string) {
	switch {
	case o.Is("source.toolkit.fluxcd.io", "OCIRepository") && o.Text("spec", "ref", "digest") == "":
		return []string{o.Text("spec", "url")}
	case o.Is("source.toolkit.fluxcd.io", "Bucket"):
		return []string{"/" + o.Text("spec", "bucketName")}
	case kinds.IsHelmRelease(o) && !delivery.IsExact(o.Text("spec", "chart", "spec", "version")):
		ref := o.Ref("spec", "chart", "spec", "sourceRef")
		for _, repository := range p.cluster.Named("HelmRepository", ref.Namespace, ref.Name) {
			if url := repository.Text("spec", "url"); strings.HasPrefix(url, "oci://") {
				found = append(found, url+"/"+o.Text("spec", "chart", "spec", "chart"))
			}
		}
	default:
		for _, source := range delivery.SourcesOf(o) {
			if delivery.ToolOf(o) == delivery.ArgoCD && strings.HasPrefix(source.Settings.Text("repoURL"), "oci://") && !delivery.IsExact(source.Settings.Text("targetRevision")) {
				found = append(found, source.Settings.Text("repoURL"))
			}
		}
	}
	return found
}

// around are lines of a file that decide what a command in it finds: those that change the folder or put files into it, and those that set its
// variables.
func around(command, text string) []string {
	found := moving.FindAllString(text, -1)
	for _, variable := range variable.FindAllStringSubmatch(command, -1) {
		found = append(found, regexp.MustCompile(`(?m)^.*\b`+variable[1]+`[ \t]*[:?+]?[=:].*$`).FindAllString(text, -1)...)
	}
	return found
}

var (
	moving   = regexp.MustCompile(`(?m)^.*(?:\b(?:cd|cp|mv|rsync|tar|kustomize[ \t]+build|helm[ \t]+package)[ \t]|\bworking-directory[ \t]*:).*$`)
	variable = regexp.MustCompile(`\$[({]*[ \t]*(?:env\.|vars\.)?([A-Za-z_]\w*)`)
	// folderOf is the folder that such a command takes, if it stands there as it is.
	folderOf = regexp.MustCompile(`[ \t](?:(?:--path|-f)[= \t]+|(?:sync|cp|mirror)[ \t]+(?:-\S+[ \t]+)*)["']?([\w./-]+)["']?(?:\s|$)`)
)

// below stands for what decides in the files of a folder about what is applied.
func (f *follower) below(dir string) string {
	if known, found := f.belows[dir]; found {
		return known
	}
	d := f.tree.NewDigest()
	err := f.tree.Each(dir, detect.IsOfPrograms, func(file string) error {
		content, err := render.ReadRegular(file)
		if pointer := (*render.PointerError)(nil); errors.As(err, &pointer) && detect.IsManifest(filepath.Base(file)) {
			content, err = render.ReadAsIs(file)
			d.Write(f.tree.Relative(file), string(content))
		}
		if err != nil || !files.MayWire(file, content) && !detect.GrantsCRDs(content) {
			return nil //nolint:nilerr // what cannot be read is reported where it is looked for
		}
		f.tree.Reads.Stands(file)
		decides := string(deciding.InFile(file, content))
		if strings.HasPrefix(filepath.Base(file), "values") {
			decides = madeof.ValuesOf(string(content))
		}
		d.Write(f.tree.Relative(file), decides)
		return nil
	})
	if err != nil {
		d.Write("error", err.Error())
	}
	f.belows[dir] = d.Sum()
	return f.belows[dir]
}
