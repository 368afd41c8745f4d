package argocd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/google/go-jsonnet"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/words"
)

// Evaluated are the manifests of a folder, and those that its Jsonnet makes, run as Argo CD runs it.
// https://github.com/argoproj/argo-cd/blob/v3.5.7/reposerver/repository/repository.go (makeJsonnetVm)
func Evaluated(ctx context.Context, t *files.Tree, u *delivery.Unit, source *delivery.Object, dir string) (*render.Rendering, error) {
	of := &chartSource{tree: t, unit: u, source: source}
	o := directoryOptions(source, t.Options(delivery.Source{}))
	o.Evaluate = func(file string, content []byte) ([]byte, error) {
		return charts.Limited(ctx, func() ([]byte, error) { return of.evaluate(dir, file, content) })
	}
	return render.Directory(dir, o)
}

// evaluate runs a file of Jsonnet.
func (c *chartSource) evaluate(dir, file string, content []byte) ([]byte, error) {
	vm := jsonnet.MakeVM()
	vm.SetTraceOut(io.Discard)
	vm.Importer(&importer{c.tree, append([]string{dir}, librariesOf(c.tree, c.source)...), map[string]jsonnet.Contents{}})
	for _, kind := range []struct {
		field     string
		text, run func(name, value string)
	}{{"extVars", vm.ExtVar, vm.ExtCode}, {"tlas", vm.TLAVar, vm.TLACode}} {
		for _, given := range c.source.Entries("directory", "jsonnet", kind.field) {
			value, err := c.expanded(given.Text("value"))
			switch {
			case err != nil:
				return nil, err
			case given.True("code"):
				kind.run(given.Text("name"), value)
			default:
				kind.text(given.Text("name"), value)
			}
		}
	}
	made, err := vm.EvaluateAnonymousSnippet(file, string(content))
	if err != nil {
		return nil, err
	}
	return documentsOf([]byte(made))
}

// documentsOf are the manifests in what a program has made: one, or a list of some.
func documentsOf(made []byte) ([]byte, error) {
	var all []json.RawMessage
	if json.Unmarshal(made, &all) != nil {
		all = []json.RawMessage{made}
	}
	for _, one := range all {
		var named struct{ Kind string }
		if json.Unmarshal(one, &named) != nil || named.Kind == "" {
			return nil, errors.New("it makes what is no manifest")
		}
	}
	return bytes.Join(words.Of(all, func(one json.RawMessage) []byte { return one }), []byte("\n---\n")), nil
}

// importer finds what a program imports, in the repository alone: beside what imports it, and then in the last of the folders first.
type importer struct {
	tree  *files.Tree
	dirs  []string
	known map[string]jsonnet.Contents
}

// Import implements jsonnet.Importer.
func (i *importer) Import(from, name string) (jsonnet.Contents, string, error) {
	dirs := slices.Clone(i.dirs)
	slices.Reverse(dirs)
	for _, dir := range append([]string{filepath.Dir(from)}, dirs...) {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if known, is := i.known[at]; is {
			return known, at, nil
		}
		if filepath.IsAbs(name) || !files.Inside(at, i.tree.Root) {
			continue
		}
		if content, found := i.tree.Read(i.tree.Relative(at)); found {
			i.known[at] = jsonnet.MakeContentsRaw(content)
			return i.known[at], at, nil
		}
	}
	return jsonnet.Contents{}, "", fmt.Errorf("there is no file %s in this repository", name)
}
