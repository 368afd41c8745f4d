package render

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkFolder builds a hundred CRDs of 90 KB each, about as many as a large cluster has, as it is done and with all
// that Kustomize would do. Both look for the place of each CRD, as for a report in which each has a finding.
//
//	go test ./clusters/render -run none -bench Folder -benchmem
func BenchmarkFolder(b *testing.B) {
	dir := b.TempDir()
	for i := range 100 {
		content := crdWith(fmt.Sprintf("widgets%03d", i), largeSchema(i))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("crd%03d.yaml", i)), []byte(content), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for name, build := range map[string]func() (*Rendering, error){
		"as-it-is-done":    func() (*Rendering, error) { return Folder(dir, Options{}) },
		"all-by-kustomize": func() (*Rendering, error) { return (&folder{dir: dir}).render(nil) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				built, err := build()
				if err != nil || len(built.Objects) != 100 {
					b.Fatal(err)
				}
				for _, object := range built.Objects {
					if object.Place("spec").Line == 0 {
						b.Fatal("no place")
					}
				}
			}
		})
	}
}

// largeSchema is shaped like those of real CRDs: a few levels, and descriptions longer than anything else.
func largeSchema(seed int) string {
	var s strings.Builder
	s.WriteString("type: object\nproperties:\n")
	for i := range 20 {
		fmt.Fprintf(&s, "  group%d:\n    type: object\n    description: Group %d of %d holds what belongs together.\n    properties:\n", i, i, seed)
		for j := range 12 {
			fmt.Fprintf(&s, "      field%d:\n        description: |-\n          Field %d says how the thing behaves that this resource stands for, and when it is to\n"+
				"          do so. It must be a \"DNS label\": lower case letters, digits and dashes.\n\n          More about it: nothing.\n"+
				"        maxLength: 63\n        pattern: ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$\n        type: string\n", j, j)
		}
	}
	return s.String()
}
