package flux

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

var manifests = regexp.MustCompile(`\.ya?ml$`)

// Beside are the sources that no unit of a guessed entry point has: what lies elsewhere in the repository may be of the same cluster. Nil has
// none.
type Beside struct{ tree *files.Tree }

// BesideIn looks through a repository.
func BesideIn(t *files.Tree) *Beside { return &Beside{t} }

// source is the only one that it may be. Of several that say the same it is the first, and of others there is none: the sources of two clusters
// are not taken for each other. A patch, which lacks the address, is no source.
func (b *Beside) source(kind string, to delivery.Reference) *delivery.Object {
	if b == nil {
		return nil
	}
	var found []*delivery.Object
	var in []string
	for _, file := range b.tree.Texts(manifests) {
		if !strings.Contains(file.Text, kind) || !strings.Contains(file.Text, to.Name) || files.IsTemplateOfChart(file.File) || detect.ForReading(b.tree.Root, file.File) {
			continue
		}
		read, err := render.Stream(file.File, strings.NewReader(file.Text))
		if err != nil {
			continue
		}
		for _, object := range read.Objects {
			isOf := to.Namespace == "" || object.GetNamespace() == "" || object.GetNamespace() == to.Namespace // a kustomization may add it
			if object.Is("source.toolkit.fluxcd.io", kind) && object.GetName() == to.Name && isOf && object.Text("spec", "url") != "" {
				found, in = append(found, object), append(in, file.File)
			}
		}
	}
	differs := func(o *delivery.Object) bool { return !reflect.DeepEqual(o.Field("spec"), found[0].Field("spec")) }
	if len(found) == 0 || strings.Contains(found[0].Text("spec", "url"), "${") || slices.ContainsFunc(found, differs) {
		return nil
	}
	for _, file := range in {
		b.tree.Reads.File(file)
	}
	return found[0]
}
