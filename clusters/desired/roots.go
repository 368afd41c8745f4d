package desired

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/detect"
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
func Touched(t *repository.Tree, files []string) ([]string, error) {
	c := touching(t, files)
	touched, err := changedAside(t, files)
	if err != nil {
		return nil, err
	}
	values := c.valuesElsewhere(t)
	err = eachFile(t, t.Dir, isNotApplied, func(file string) error {
		dir := filepath.Dir(file)
		isKustomization := render.KustomizationIn(dir) == file && !render.IsComponent(file)
		if !isKustomization && filepath.Base(file) != chartFile || ForReading(t.Dir, file) {
			return nil
		}
		short, err := filepath.Rel(t.Dir, dir)
		short = filepath.ToSlash(short)
		if isKustomization && slices.ContainsFunc(render.Local(dir, t.Root), c.touch) || !isKustomization && c.touchChart(file) {
			touched = append(touched, short)
		}
		if !isKustomization && len(values) > 0 && !isSubchart(dir) {
			touched = append(touched, short+valuesAre+strings.Join(values, ","))
		}
		return err
	})
	return touched, err
}

// isSubchart reports whether a chart is installed as part of the one around it.
func isSubchart(dir string) bool {
	return filepath.Base(filepath.Dir(dir)) == "charts" && hasFile(filepath.Dir(filepath.Dir(dir)), chartFile)
}

// changedAside are the files that eachFile does not visit under their names, or that are no manifests by their names.
func changedAside(t *repository.Tree, files []string) (aside []string, err error) {
	for _, file := range files {
		if !inside(file, t.Dir) || ForReading(t.Dir, file) {
			continue
		}
		content, unread := render.ReadRegular(file)
		if isLink(file) || !detect.IsManifest(filepath.Base(file)) && unread == nil && detect.CRD.Match(content) {
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
func (e *everywhere) passedOver(file string) error {
	info, err := os.Stat(file)
	if err != nil || !isLink(file) && (info.IsDir() || detect.IsManifest(filepath.Base(file))) {
		return nil //nolint:nilerr // it is not on this side, or is visited anyway
	}
	aside := *e
	aside.cluster = &delivery.Cluster{}
	if info.IsDir() {
		err = eachFile(e.tree, file+string(filepath.Separator)+".", isNotApplied, func(file string) error {
			if !detect.IsManifest(filepath.Base(file)) {
				return nil
			}
			return aside.file(file)
		})
	} else {
		err = aside.file(file)
	}
	unit := &delivery.Unit{Name: e.tree.Relative(file), Dirs: []string{e.tree.Relative(file)}}
	for _, crd := range aside.cluster.CRDs() {
		unit.Objects = append(unit.Objects, crd.Object)
	}
	e.cluster.Built, e.cluster.Unseen = append(e.cluster.Built, unit), append(e.cluster.Unseen, aside.cluster.Unseen...)
	return err
}

// chartFile is the file that makes a folder a chart.
const chartFile = "Chart.yaml"

// Wiring are entry points among the folders of a tree that has none of its own. They are kustomizations and charts which have to do with
// some files, and make something that Flux, Argo CD or another controller installs from. A chart is one with its own values, and
// one more with each file of values beside them.
func Wiring(t *repository.Tree, files []string) ([]string, error) {
	touched, err := Touched(t, files)
	if err != nil {
		return nil, err
	}
	found := wiredKustomizations(t, touched)
	c := touching(t, files)
	err = eachFile(t, t.Dir, isNotApplied, func(file string) error {
		dir := filepath.Dir(file)
		short, err := filepath.Rel(t.Dir, dir)
		if filepath.Base(file) != chartFile || isSubchart(dir) || ForReading(t.Dir, file) || !c.touch(dir) || err != nil || !slices.ContainsFunc(filesIn(filepath.Join(dir, "templates")), installsSomething) {
			return err
		}
		found = append(found, filepath.ToSlash(short))
		for _, values := range valuesBeside(dir) {
			found = append(found, filepath.ToSlash(short)+valuesAre+filepath.Base(values))
		}
		return nil
	})
	return found, err
}

// valuesAre stands between a chart that is an entry point and its files of values.
const valuesAre = "?values="

// otherValues are names of files that have values for a chart beside its own, for an environment as a rule.
var otherValues = regexp.MustCompile(`^values[-._].+\.ya?ml$|^.+[-._]values\.ya?ml$`)

// valuesBeside are the files of values in the folder of a chart, beside its own.
func valuesBeside(dir string) []string {
	return slices.DeleteFunc(filesIn(dir), func(file string) bool {
		return filepath.Dir(file) != dir || !otherValues.MatchString(filepath.Base(file))
	})
}

// wiredKustomizations are those of some folders that none of the others is built of, if they make something that is installed.
func wiredKustomizations(t *repository.Tree, folders []string) (found []string) {
	parts := map[string][]string{}
	for _, folder := range folders {
		parts[folder] = render.Local(filepath.Join(t.Dir, filepath.FromSlash(folder)), t.Root)
	}
	for _, folder := range folders {
		file := render.KustomizationIn(filepath.Join(t.Dir, filepath.FromSlash(folder)))
		isPart := slices.ContainsFunc(folders, func(other string) bool { return other != folder && slices.Contains(parts[other], file) })
		if folder != "." && !isPart && slices.ContainsFunc(parts[folder], installsSomething) {
			found = append(found, folder)
		}
	}
	return found
}

// installsSomething reports whether a file may hold an object of Flux, Argo CD or something else that installs.
func installsSomething(file string) bool {
	content, err := render.ReadRegular(file)
	return err == nil && (detect.Tool.Match(content) || detect.Installer.Match(content))
}

// filesIn are the files below a folder, none if there is no such folder.
func filesIn(dir string) (files []string) {
	_ = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, file)
		}
		return nil
	})
	return files
}

// changes are files that are not as they were, and the folders around them.
type changes struct {
	root           string
	files, folders map[string]bool
}

func touching(t *repository.Tree, files []string) changes {
	c := changes{t.Root, map[string]bool{}, map[string]bool{}}
	for _, file := range files {
		c.files[file] = true
		for dir := filepath.Dir(file); inside(dir, t.Root) && !c.folders[dir]; dir = filepath.Dir(dir) {
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
	for ; inside(path, c.root); path = filepath.Dir(path) {
		if c.files[path] {
			return true
		}
		if path == c.root {
			break
		}
	}
	return false
}

// valuesElsewhere are changed files of values that are part of no chart, by their paths from the root: nothing shows for which chart
// they are.
func (c changes) valuesElsewhere(t *repository.Tree) (found []string) {
	around := &everywhere{follower: follower{tree: t}}
	for _, file := range slices.Sorted(maps.Keys(c.files)) {
		name := filepath.Base(file)
		if (name == "values.yaml" || name == "values.yml" || otherValues.MatchString(name)) && !strings.Contains(name, ",") && around.chartAround(filepath.Dir(file)) == "" {
			found = append(found, t.Relative(file))
		}
	}
	return found
}

// touchChart is whether they have to do with a chart. What lies in it counts, what its symbolic links lead to, and a chart that
// it names by file://.
func (c changes) touchChart(file string) bool { return c.touchFolder(filepath.Dir(file), 0) }

func (c changes) touchFolder(dir string, depth int) bool {
	if c.touch(dir) || depth > mostNested {
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
			if err != nil || !inside(to, c.root) || inside(to, dir) {
				return nil //nolint:nilerr // it leads to nothing, or to what is visited anyway
			}
			more = []string{to}
		case entry.Name() == chartFile:
			content, _ := render.ReadRegular(file)
			for _, on := range dependenciesIn(content) {
				more = append(more, filepath.Join(filepath.Dir(file), filepath.FromSlash(on)))
			}
		}
		if slices.ContainsFunc(more, func(path string) bool { return c.touchFolder(path, depth+1) }) {
			return found
		}
		return nil
	}), found)
}

// isNotApplied is for folders that no tool applies: hidden ones, as with Flux, and those whose manifests are a program's own.
func isNotApplied(name string) bool {
	return isHidden(name) || slices.Contains(notApplied, name)
}

// isOfPrograms is for folders that programs keep for themselves.
func isOfPrograms(name string) bool {
	return slices.Contains([]string{".git", ".terraform", ".terragrunt-cache", ".devcontainer", "node_modules"}, name)
}

// isHidden is for folders that tools pass over. In .helm, werf has its chart.
func isHidden(name string) bool { return strings.HasPrefix(name, ".") && name != ".helm" }
