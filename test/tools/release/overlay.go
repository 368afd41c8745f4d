package main

import (
	"context"
	"encoding/json"
	"fmt"
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

// overlay writes the copy into a folder. It returns the file for go build -overlay, and the GOROOT to build with: Go refuses to
// replace files of a toolchain that lies in its cache of modules, so a link leads there.
func (s source) overlay(ctx context.Context, folder string) (file, goroot string, err error) {
	names, err := os.ReadFile(filepath.Join(s.root, methodsFile))
	if err != nil {
		return "", "", err
	}
	toolchain, err := s.output(ctx, nil, "go", "env", "GOROOT")
	if err != nil {
		return "", "", err
	}
	goroot = filepath.Join(folder, "go")
	if err := os.Symlink(toolchain, goroot); err != nil {
		return "", "", err
	}
	in := filepath.Join(goroot, "src", "text", "template")
	exec, err := os.ReadFile(filepath.Join(in, "exec.go"))
	if err != nil {
		return "", "", err
	}
	written, err := keeping(string(exec), strings.Fields(string(names)))
	if err != nil {
		return "", "", err
	}
	replaced := map[string]string{}
	for name, content := range written {
		replaced[filepath.Join(in, name)] = filepath.Join(folder, name)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			return "", "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", "", err
	}
	file = filepath.Join(folder, "overlay.json")
	return file, goroot, os.WriteFile(file, text, 0o600)
}

// keeping are the files of the copy, from Go's own exec.go and the names of the methods to keep.
func keeping(exec string, names []string) (map[string]string, error) {
	if found := strings.Count(exec, anyMethod); found != 1 {
		return nil, fmt.Errorf("exec.go of Go's text/template has %d times `%s`, and must have it once; adapt test/tools/release/overlay.go to this version of Go", found, anyMethod)
	}
	var cases, list strings.Builder
	for _, name := range names {
		fmt.Fprintf(&cases, "\tcase %[1]q:\n\t\treturn value.MethodByName(%[1]q), true\n", name)
		fmt.Fprintf(&list, "%q, ", name)
	}
	return map[string]string{
		"exec.go":    strings.Replace(exec, anyMethod, keptMethod, 1),
		"methods.go": fmt.Sprintf(methodOf, cases.String(), list.String()),
	}, nil
}
