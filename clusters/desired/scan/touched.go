package scan

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
)

// Touched are the folders of the kustomizations and charts that may be made of some files, by their paths from what the tree was
// opened for. A file counts for all that it may be part of, however far away these are. Left out are Components, which are built
// as part of others, and folders that are for reading.
//
// A chart is among them once more with changed files of values that are part of none, as CHART?values=FILE,FILE.
//
// Files are among them, too, if Everywhere passes them over: symbolic links, and those that declare CRDs under another name than a
// manifest's.
func Touched(tree *repository.Tree, changed []string) ([]string, error) {
	t := files.Of(tree)
	c := touching(t, changed)
	touched, err := changedAside(t, changed)
	if err != nil {
		return nil, err
	}
	values := c.valuesElsewhere(t)
	err = t.Each(t.Dir, detect.IsNotApplied, func(file string) error {
		dir := filepath.Dir(file)
		isKustomization := render.KustomizationIn(dir) == file && !render.IsComponent(file)
		if !isKustomization && filepath.Base(file) != files.ChartFile || detect.ForReading(t.Dir, file) {
			return nil
		}
		short, err := filepath.Rel(t.Dir, dir)
		short = filepath.ToSlash(short)
		if isKustomization && slices.ContainsFunc(render.Local(dir, t.Root), c.touch) || !isKustomization && c.touchChart(file) {
			touched = append(touched, short)
		}
		if isKustomization || files.IsSubchart(dir) {
			return err
		}
		if len(values) > 0 {
			touched = append(touched, helm.EntryOf(short, values...))
		}
		for _, one := range c.valuesFor(t, dir) {
			if !slices.Contains(values, one) {
				touched = append(touched, helm.EntryOf(short, one))
			}
		}
		return err
	})
	return touched, err
}

// changedAside are the files that eachFile does not visit under their names, or that are no manifests by their names.
func changedAside(t *files.Tree, changed []string) (aside []string, err error) {
	for _, file := range changed {
		if !files.Inside(file, t.Dir) || detect.ForReading(t.Dir, file) {
			continue
		}
		content, unread := render.ReadRegular(file)
		if files.IsLink(file) || !detect.IsManifest(filepath.Base(file)) && unread == nil && detect.CRD.Match(content) {
			short, err := filepath.Rel(t.Dir, file)
			if err != nil {
				return nil, err
			}
			aside = append(aside, filepath.ToSlash(short))
		}
	}
	return aside, nil
}

// passedOver adds the CRDs of a file that changedAside finds, on either side, as a unit of its own: a manifest that gets such a name is
// one no more.
func (s *scan) passedOver(ctx context.Context, file string) error {
	info, err := os.Stat(file)
	if err != nil || !files.IsLink(file) && (info.IsDir() || detect.IsManifest(filepath.Base(file))) {
		return nil //nolint:nilerr // it is not on this side, or is visited anyway
	}
	aside := *s
	aside.cluster = &delivery.Cluster{}
	if info.IsDir() {
		err = s.tree.Each(file+string(filepath.Separator)+".", detect.IsNotApplied, func(file string) error {
			if !detect.IsManifest(filepath.Base(file)) {
				return nil
			}
			return aside.file(ctx, file)
		})
	} else {
		err = aside.file(ctx, file)
	}
	unit := &delivery.Unit{Name: s.tree.Relative(file), Dirs: []string{s.tree.Relative(file)}}
	for _, crd := range aside.cluster.CRDs() {
		unit.Objects = append(unit.Objects, crd.Object)
	}
	s.cluster.Built, s.cluster.Unseen = append(s.cluster.Built, unit), append(s.cluster.Unseen, aside.cluster.Unseen...)
	return err
}

// Wiring are entry points among the folders of a tree that has none of its own. They are kustomizations and charts which have to do with
// some files, and make something that Flux, Argo CD or another controller installs from. Those count, too, that give a program the right to make
// CRDs. A chart is one with its own values, and one more with each file of values beside them.
func Wiring(tree *repository.Tree, changed []string) ([]string, error) {
	return wiring(tree, changed, mayBring)
}

// Unfollowed are the same beside entry points that were found. These do not lead to them, so what makes CRDs or takes something from elsewhere
// counts, too, and so do folders of manifests that something installs from.
func Unfollowed(tree *repository.Tree, changed []string) ([]string, error) {
	found, err := wiring(tree, changed, func(file string) bool {
		content, err := render.ReadRegular(file)
		return err == nil && detect.CRD.Match(content) || mayBring(file) || takesFromElsewhere(file)
	})
	return append(found, loose(files.Of(tree), changed)...), err
}

// takesFromElsewhere reports whether a file is a kustomization that takes in what is not in this repository, or a chart that does.
func takesFromElsewhere(file string) bool {
	if filepath.Base(file) != files.ChartFile {
		return render.TakesFromElsewhere(file)
	}
	content, err := render.ReadRegular(file)
	return err == nil && files.DependsOnOthers(content)
}

func wiring(tree *repository.Tree, changed []string, counts func(file string) bool) ([]string, error) {
	t := files.Of(tree)
	touched, err := Touched(tree, changed)
	if err != nil {
		return nil, err
	}
	found := wiredKustomizations(t, touched, counts)
	c := touching(t, changed)
	brings := func(chart string) bool {
		return c.touchDependencies(chart) && counts(filepath.Join(chart, files.ChartFile)) || slices.ContainsFunc(files.In(filepath.Join(chart, "templates")), counts)
	}
	err = t.Each(t.Dir, detect.IsNotApplied, func(file string) error {
		dir := filepath.Dir(file)
		short, err := filepath.Rel(t.Dir, dir)
		if filepath.Base(file) != files.ChartFile || files.IsSubchart(dir) || detect.ForReading(t.Dir, file) || err != nil {
			return err
		}
		elsewhere := c.valuesFor(t, dir)
		isTouched := c.touch(dir) || c.strays && !t.Reads.Has(file) && leads(dir)
		if !isTouched && len(elsewhere) == 0 || !brings(dir) {
			return nil
		}
		short = filepath.ToSlash(short)
		if isTouched {
			found = append(found, short)
			for _, values := range valuesBeside(dir) {
				found = append(found, helm.EntryOf(short, filepath.Base(values)))
			}
		}
		for _, values := range elsewhere {
			found = append(found, helm.EntryOf(short, values))
		}
		return nil
	})
	return found, err
}

// leads reports whether templates of a chart make what Flux or Argo CD applies, and cannot be read as they lie there, or not what that takes. Which
// files of values it takes shows once they are rendered.
func leads(chart string) bool {
	return slices.ContainsFunc(files.In(filepath.Join(chart, "templates")), func(file string) bool {
		content, err := render.ReadRegular(file)
		if err != nil || !detect.Tool.Match(content) || !detect.MayDeliver(content) {
			return false
		}
		read, err := render.Stream(file, bytes.NewReader(content))
		isOpen := func(source delivery.Source) bool { return strings.Contains(source.Path, "{{") }
		return err != nil || slices.ContainsFunc(read.Objects, func(o *delivery.Object) bool { return slices.ContainsFunc(delivery.SourcesOf(o), isOpen) })
	})
}

// wiredKustomizations are those of some folders that none of the others is built of, if they make something that is installed.
func wiredKustomizations(t *files.Tree, folders []string, counts func(file string) bool) (found []string) {
	parts := map[string][]string{}
	for _, folder := range folders {
		parts[folder] = render.Local(filepath.Join(t.Dir, filepath.FromSlash(folder)), t.Root)
	}
	for _, folder := range folders {
		file := render.KustomizationIn(filepath.Join(t.Dir, filepath.FromSlash(folder)))
		isPart := slices.ContainsFunc(folders, func(other string) bool { return other != folder && slices.Contains(parts[other], file) })
		if folder != "." && !isPart && slices.ContainsFunc(parts[folder], counts) {
			found = append(found, folder)
		}
	}
	return found
}

// changes are files that are not as they were, and the folders around them.
type changes struct {
	root           string
	files, folders map[string]bool
	values         map[string][]string // the keys of those that may be files of values
	strays         bool                // some of these are in no chart, or have to do with one only where they are there
}

func touching(t *files.Tree, changed []string) changes {
	c := changes{root: t.Root, files: map[string]bool{}, folders: map[string]bool{}, values: map[string][]string{}}
	for _, file := range changed {
		c.files[file] = true
		if keys := valueKeys(t, file); len(keys) > 0 {
			c.values[file] = keys
			c.strays = c.strays || t.ChartAround(filepath.Dir(file)) == ""
		}
		c.strays = c.strays || IsValues(filepath.Base(file)) && !files.Has(t.Root, t.Relative(file))
		for dir := filepath.Dir(file); files.Inside(dir, t.Root) && !c.folders[dir]; dir = filepath.Dir(dir) {
			c.folders[dir] = true
		}
	}
	return c
}

// touch reports whether they have to do with a file, or with a folder and all below it: with its symbolic links as well.
func (c changes) touch(path string) bool {
	direct, err := filepath.EvalSymlinks(path)
	return c.has(path) || err == nil && direct != path && c.has(direct)
}

func (c changes) has(path string) bool {
	if c.folders[path] {
		return true
	}
	for ; files.Inside(path, c.root); path = filepath.Dir(path) {
		if c.files[path] {
			return true
		}
		if path == c.root {
			break
		}
	}
	return false
}

// touchDependencies reports whether they have to do with what decides about the charts that a chart depends on: its templates do not.
func (c changes) touchDependencies(dir string) bool {
	templates := filepath.Join(dir, "templates")
	for file := range c.files {
		if files.Inside(file, dir) && !files.Inside(file, templates) {
			return true
		}
	}
	return false
}

// touchChart is whether they have to do with a chart. What lies in it counts, what its symbolic links lead to, and a chart that
// it names by file://.
func (c changes) touchChart(file string) bool { return c.touchFolder(filepath.Dir(file), 0) }

func (c changes) touchFolder(dir string, depth int) bool {
	if c.touch(dir) || depth > helm.MostNested {
		return c.touch(dir)
	}
	found := errors.New("found")
	return errors.Is(filepath.WalkDir(dir+string(filepath.Separator)+".", func(file string, entry fs.DirEntry, err error) error {
		var more []string
		switch {
		case err != nil:
			return nil //nolint:nilerr // what cannot be read is no part of it
		case entry.Type()&fs.ModeSymlink != 0:
			to, err := filepath.EvalSymlinks(file)
			if err != nil || !files.Inside(to, c.root) || files.Inside(to, dir) {
				return nil //nolint:nilerr // it leads to nothing, or to what is visited anyway
			}
			more = []string{to}
		case entry.Name() == files.ChartFile:
			content, _ := render.ReadRegular(file)
			for _, on := range files.DependenciesIn(content) {
				more = append(more, filepath.Join(filepath.Dir(file), filepath.FromSlash(on)))
			}
		}
		if slices.ContainsFunc(more, func(path string) bool { return c.touchFolder(path, depth+1) }) {
			return found
		}
		return nil
	}), found)
}
