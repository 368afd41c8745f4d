package main

import (
	"cmp"
	"debug/buildinfo"
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// most is how many bytes a program may have; docs/decisions/0015 says what they consist of.
var most = map[string]int64{"moult-controller": 45_000_000, "moult": 60_000_000}

// weigh writes which modules a program for Linux consists of: the code of their functions, and their share of the table that
// names the lines of all code. What is left are types, constants and data.
func weigh(program string, out io.Writer) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	file, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer file.Close()
	text, lines := file.Section(".text"), file.Section(".gopclntab")
	if text == nil || lines == nil {
		return errors.New("this is no Go program for Linux")
	}
	content, err := lines.Data()
	if err != nil {
		return err
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(content, text.Addr))
	if err != nil {
		return err
	}
	modules := []string{info.Main.Path}
	for _, dependency := range info.Deps {
		modules = append(modules, dependency.Path)
	}
	code, all := map[string]uint64{}, uint64(0)
	for i := range table.Funcs {
		size := table.Funcs[i].End - table.Funcs[i].Entry
		code[moduleOf(table.Funcs[i].PackageName(), modules)] += size
		all += size
	}
	names := slices.SortedFunc(maps.Keys(code), func(a, b string) int { return cmp.Or(cmp.Compare(code[b], code[a]), cmp.Compare(a, b)) })
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "MB\tof code\t\n")
	for _, name := range names {
		share := float64(code[name]) * float64(lines.Size) / float64(all)
		fmt.Fprintf(w, "%.1f\t%.1f\t  %s\n", (float64(code[name])+share)/1e6, float64(code[name])/1e6, name)
	}
	return w.Flush()
}

// moduleOf is the module of a package: that with the longest path, or Go's own library.
func moduleOf(path string, modules []string) string {
	best := ""
	for _, m := range modules {
		if (path == m || strings.HasPrefix(path, m+"/")) && len(m) > len(best) {
			best = m
		}
	}
	return cmp.Or(best, "Go's own library")
}
