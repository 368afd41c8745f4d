package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A template looks methods up by name while a program runs. For Go's linker that could be any method of any type, so it keeps
// them all, a fifth of moult. The programs of a release have a copy of Go's text/template that knows the names in methodsFile
// alone. The linker sees those, and drops the other methods. docs/decisions/0015 has the reasons.

// methodsFile has the names of all methods of the values that charts and our own templates are given. Tests of the packages that
// execute templates report a name that is missing.
const methodsFile = "test/templates/methods.txt"

// Where Go's text/template/exec.go looks a method up, and what stands in the copy instead.
const (
	anyMethod  = `if method := ptr.MethodByName(fieldName); method.IsValid() {`
	keptMethod = `method, known := methodOf(ptr, fieldName); if !known { s.errorf("can't evaluate field %s in type %s", fieldName, typ) }; if method.IsValid() {`
)

// methodOf is the source of a file beside exec.go. Whether a type has a method that was dropped can be seen from how many it has:
// a template that asks such a type for another name fails, as that name could be the method's.
const methodOf = `package template

import (
	"reflect"
	"sync"
)

// methodOf is the method of a value, and whether it is known. The linker keeps methods whose names are constants here.
func methodOf(value reflect.Value, name string) (method reflect.Value, known bool) {
	switch name {
%s	}
	return method, value.NumMethod() == 0 || 'a' <= name[0] && name[0] <= 'z' || value.NumMethod() == kept(value)
}

var counts sync.Map // by type

// kept is how many methods of a value are known.
func kept(value reflect.Value) (count int) {
	if counted, found := counts.Load(value.Type()); found {
		return counted.(int)
	}
	for _, name := range []string{%s} {
		if method, _ := methodOf(value, name); method.IsValid() {
			count++
		}
	}
	counts.Store(value.Type(), count)
	return count
}
`

// overlay makes a Go and a cache of modules in a folder, of links, except for the files that a release has differently. It returns
// the environment that has go use them. The modules that the platform needs are downloaded before. `go build -overlay` would not
// do: it refuses to replace files of modules.
func (s source) overlay(ctx context.Context, folder string, platform ...string) (env []string, err error) {
	names, err := os.ReadFile(filepath.Join(s.root, methodsFile))
	if err != nil {
		return nil, err
	}
	paths, err := s.output(ctx, nil, "go", "env", "GOROOT", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	toolchain, cache, _ := strings.Cut(paths, "\n")
	const templates = "src/text/template"
	exec, err := os.ReadFile(filepath.Join(toolchain, templates, "exec.go"))
	if err != nil {
		return nil, err
	}
	engine := map[string][]byte{}
	engine[templates+"/exec.go"], engine[templates+"/methods.go"], err = keeping(string(exec), strings.Fields(string(names)))
	if err != nil {
		return nil, err
	}
	goroot := filepath.Join(folder, "go")
	if err := mirror(toolchain, goroot, engine); err != nil {
		return nil, err
	}
	listed, err := s.output(ctx, platform, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Dir}}{{end}}", "./cmd/moult", "./cmd/moult-controller")
	if err != nil {
		return nil, err
	}
	folders := map[string]string{}
	for line := range strings.Lines(listed) {
		module, at, _ := strings.Cut(strings.TrimSpace(line), " ")
		folders[module] = at
	}
	lighter := map[string][]byte{}
	for _, c := range cuts {
		path := filepath.Join(folders[c.module], c.file)
		name, err := filepath.Rel(cache, path)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%w; adapt test/tools/release/cuts.go to this version of %s", err, c.module)
		}
		if lighter[name], err = c.apply(text); err != nil {
			return nil, err
		}
	}
	modules := filepath.Join(folder, "mod")
	return []string{"GOROOT=" + goroot, "GOMODCACHE=" + modules}, mirror(cache, modules, lighter)
}

// mirror makes a folder that has what the original has, through links, but for some files: these are written, or left out where
// they have no content.
func mirror(original, folder string, files map[string][]byte) error {
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			return err
		}
		if content != nil {
			if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
				return err
			}
		}
	}
	for name := range files {
		for name != "." {
			name = filepath.Dir(name)
			beside, err := os.ReadDir(filepath.Join(original, name))
			if err != nil {
				return err
			}
			for _, entry := range beside {
				path := filepath.Join(name, entry.Name())
				if _, own := files[path]; own {
					continue
				}
				if err := os.Symlink(filepath.Join(original, path), filepath.Join(folder, path)); err != nil && !errors.Is(err, fs.ErrExist) {
					return err
				}
			}
		}
	}
	return nil
}

// keeping are exec.go of the copy, from Go's own, and a file beside it, for the names of the methods to keep.
func keeping(exec string, names []string) (copied, beside []byte, err error) {
	if found := strings.Count(exec, anyMethod); found != 1 {
		return nil, nil, fmt.Errorf("exec.go of Go's text/template has %d times `%s`, and must have it once; adapt test/tools/release/overlay.go to this version of Go", found, anyMethod)
	}
	var cases, list strings.Builder
	for _, name := range names {
		fmt.Fprintf(&cases, "\tcase %[1]q:\n\t\treturn value.MethodByName(%[1]q), true\n", name)
		fmt.Fprintf(&list, "%q, ", name)
	}
	return []byte(strings.Replace(exec, anyMethod, keptMethod, 1)), fmt.Appendf(nil, methodOf, cases.String(), list.String()), nil
}
