package argocd

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
)

// An import of Jsonnet takes a string as it is written, and no expression.
// https://jsonnet.org/ref/spec.html
var (
	aboutImports = regexp.MustCompile(`\bimport(?:str|bin)?\b`)
	imports      = regexp.MustCompile(`\bimport(str|bin)?\s*@?(?:'([^'\\\n]+)'|"([^"\\\n]+)")`)
)

// Imported are the files that the Jsonnet of a folder imports, absolute, wherever they may lie. It is not known whether these are
// all if code in the Application may import others, a file has the word in another place, or the source is overridden.
func Imported(t *files.Tree, u *delivery.Unit, source *delivery.Object, dir string) (found []string, areAll bool) {
	areAll = len(Overrides(u, dir)) == 0
	for _, value := range crdschema.Each(source.Field("directory", "jsonnet")) {
		text, _ := value.(string)
		areAll = areAll && !aboutImports.MatchString(text)
	}
	next := jsonnetIn(dir)
	for i := 0; i < len(next); i++ { // it grows
		content, err := render.ReadRegular(next[i])
		if err != nil {
			continue // it lies elsewhere
		}
		t.Reads.File(next[i])
		named := imports.FindAllStringSubmatch(string(content), -1)
		areAll = areAll && len(named) == len(aboutImports.FindAllString(string(content), -1))
		for _, one := range named {
			beside := []string{filepath.Dir(next[i]), dir}
			if direct, err := filepath.EvalSymlinks(next[i]); err == nil {
				beside = append(beside, filepath.Dir(direct))
			}
			places := placesOf(t, source, beside, one[2]+one[3])
			found = append(found, places...)
			if one[1] == "" {
				next = append(next, slices.DeleteFunc(places, func(file string) bool { return slices.Contains(next, file) })...)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), areAll
}

// jsonnetIn are the files of Jsonnet in a folder and below.
func jsonnetIn(dir string) (found []string) {
	_ = filepath.WalkDir(itself(dir), func(file string, _ fs.DirEntry, err error) error {
		if err == nil && slices.Contains([]string{".jsonnet", ".libsonnet"}, filepath.Ext(file)) {
			found = append(found, file)
		}
		return nil // what cannot be read is not there
	})
	return found
}

// placesOf is where an import may lie: beside what imports it, in the folder, and in the libraries of the Application.
func placesOf(t *files.Tree, source *delivery.Object, dirs []string, name string) (places []string) {
	for _, dir := range append(dirs, librariesOf(t, source)...) {
		places = append(places, filepath.Join(dir, filepath.FromSlash(name)))
	}
	return slices.DeleteFunc(places, func(file string) bool { return !files.Inside(file, t.Root) })
}

func librariesOf(t *files.Tree, source *delivery.Object) (dirs []string) {
	for _, library := range source.Texts("directory", "jsonnet", "libs") {
		dirs = append(dirs, filepath.Join(t.Root, filepath.FromSlash(library)))
	}
	return dirs
}
