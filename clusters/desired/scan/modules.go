package scan

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/render"
)

var (
	// imports are the names that a program in Python takes from modules, or the modules.
	imports = regexp.MustCompile(`(?m)^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))`)
	// imported is one of these, with the name that it gets.
	imported = regexp.MustCompile(`([\w.]+)(?:[ \t]+as[ \t]+(\w+))?`)
)

// withModules is a program in Python with the modules of this repository that it imports, and those that these import: they may give values to
// its variables.
func (s *scan) withModules(file string, content []byte) []byte {
	known, next := map[string]bool{file: true}, []string{file}
	all := slices.Clone(content)
	for ; len(next) > 0; next = next[1:] {
		text, err := render.ReadRegular(next[0])
		if err != nil {
			continue // there is no such module
		}
		if next[0] != file {
			s.tree.Reads.File(next[0])
			all = append(append(all, '\n'), text...)
		}
		modules, renamed := s.importedBy(next[0], string(text))
		all = append(all, renamed...)
		for _, module := range modules {
			if !known[module] {
				known[module] = true
				next = append(next, module)
			}
		}
	}
	return all
}

// importedBy is where the modules may lie that a program imports: beside it, and in the folders around it. Renamed gives values to the names that
// it has for them.
func (s *scan) importedBy(file, text string) (modules []string, renamed string) {
	for _, one := range imports.FindAllStringSubmatch(text, -1) {
		dots, module, names := one[1], one[2], imported.FindAllStringSubmatch(one[3]+one[4], -1)
		dir := filepath.Dir(file)
		for range strings.Count(dots, ".") - 1 {
			dir = filepath.Dir(dir)
		}
		paths := []string{module}
		for _, name := range names {
			paths = append(paths, strings.Trim(module+"."+name[1], "."))
			if name[2] != "" {
				renamed += "\n" + name[2] + " = " + name[1]
			}
		}
		for ; files.Inside(dir, s.tree.Root); dir = filepath.Dir(dir) {
			for _, path := range paths {
				at := filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(path, ".", "/")))
				modules = append(modules, at+".py", filepath.Join(at, "__init__.py"))
			}
			if dots != "" || dir == s.tree.Root {
				break
			}
		}
	}
	return modules, renamed
}
