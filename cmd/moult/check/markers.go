package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/optin"
	"github.com/moult-dev/moult/policies/words"
)

// markers looks at Go types that controller-gen makes CRDs of.
type markers struct {
	*cli.Factory
	format string
}

// markersReport is what -o json and -o yaml print.
type markersReport struct {
	// OK is true when there is no finding.
	OK bool `json:"ok"`
	// Types are the Go types of storage versions.
	Types    []string      `json:"types"`
	Findings []optin.Found `json:"findings"`
}

func newMarkers(f *cli.Factory) *cobra.Command {
	m := &markers{Factory: f}
	c := &cobra.Command{
		Use:   "markers PATH...",
		Short: "Check that Go types of storage versions carry the opt-in marker",
		Long: `Look at Go types that controller-gen makes CRDs of. Each one that is marked
+kubebuilder:storageversion has to carry the marker that puts the opt-in label on
its CRD,

  // +kubebuilder:metadata:labels="` + v1alpha1.MigrateLabel + `=` + v1alpha1.MigrateLabelValue + `"

or the same with ` + v1alpha1.MigrateLabelExcluded + `, which says that the CRD is left out on purpose. A PATH is
a Go file, a folder, or a folder and everything below it (./api/...); tests and
folders that Go leaves out are left out here, too. A type that lies in no other
of these folders, nor in one beside its own, is the only version of its CRD. It
needs no marker, as "moult check opt-in" needs no label on such a CRD.

` + f.ExitCodes(cli.Codes{
			Done:    "every such type carries one of the two",
			NotDone: "at least one does not",
		}),
		Example:           f.Example(`  moult check markers ./api/...`),
		Args:              cli.SomePaths,
		ValidArgsFunction: cli.CompleteFolders,
		RunE:              func(_ *cobra.Command, paths []string) error { return m.run(words.Distinct(paths)) },
	}
	output.AddFlag(c, &m.format)
	return c
}

func (m *markers) run(paths []string) error {
	report := markersReport{OK: true, Types: []string{}, Findings: []optin.Found{}}
	var files []string
	for _, path := range paths {
		found, err := goFiles(path)
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	versions := foldersOfTypes(files)
	for _, file := range files {
		if err := report.read(file, m.LabelKey, versions.single); err != nil {
			return err
		}
	}
	if len(report.Types) == 0 {
		return errors.New("name the folders with the API's types, such as ./api/...: no type there is marked +kubebuilder:storageversion")
	}
	if m.format != "" {
		if err := output.Print(m.Out, m.format, report); err != nil {
			return err
		}
	} else {
		printFindings(m.Out, report.Findings)
		fmt.Fprintf(m.Out, "%s marked +kubebuilder:storageversion, %d without the opt-in marker\n", words.Count(len(report.Types), "Go type"), len(report.Findings))
	}
	if !report.OK {
		return cli.NotDone{Sentence: fmt.Sprintf("%s without the opt-in marker; what to write is above", words.Count(len(report.Findings), "type"))}
	}
	return nil
}

func (r *markersReport) read(file, labelKey string, single func(string) bool) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	types, findings, err := optin.Markers(file, source, labelKey, single)
	if err != nil {
		return err
	}
	r.Types = append(r.Types, types...)
	for _, f := range findings {
		r.Findings = append(r.Findings, optin.Found{Finding: f})
		r.OK = false
	}
	return nil
}

// folders are those that types lie in, by the types' names: a folder for each version.
type folders map[string]map[string]bool

// foldersOfTypes looks into some files and into the folders beside theirs, where the other versions lie as a rule. A
// file that is no Go is passed over; the caller that named it reports that.
func foldersOfTypes(files []string) folders {
	found, beside := folders{}, map[string]bool{}
	for _, file := range files {
		found.add(file)
		if around := filepath.Join(filepath.Dir(file), ".."); !beside[around] {
			beside[around] = true
			others, _ := filepath.Glob(filepath.Join(around, "*", "*.go")) // fails only for a bad pattern
			for _, other := range others {
				found.add(other)
			}
		}
	}
	return found
}

func (f folders) add(file string) {
	source, err := os.ReadFile(file)
	if err != nil {
		return
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return
	}
	names, _ := optin.TypeNames(file, source)
	for _, name := range names {
		if f[name] == nil {
			f[name] = map[string]bool{}
		}
		f[name][dir] = true
	}
}

// single reports whether types of a name are the only version there is.
func (f folders) single(name string) bool { return len(f[name]) < 2 }

// goFiles are those of a folder, or with /... of all below it that Go would look at.
func goFiles(path string) ([]string, error) {
	dir, below := strings.CutSuffix(filepath.ToSlash(path), "/...")
	if path == "..." {
		dir, below = ".", true
	}
	var files []string
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			if strings.HasSuffix(name, ".go") && (name == dir || !strings.HasSuffix(name, "_test.go")) {
				files = append(files, name)
			}
		case name != dir && (!below || strings.HasPrefix(entry.Name(), ".") || strings.HasPrefix(entry.Name(), "_") || entry.Name() == "testdata" || entry.Name() == "vendor"):
			return filepath.SkipDir
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there is no Go file in %s; write %s/... for the folders below it", dir, dir)
	}
	return files, input.NoSuchPath(dir, err)
}
