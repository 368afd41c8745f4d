package optin

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

const (
	storageMarker  = "+kubebuilder:storageversion"
	metadataMarker = "+kubebuilder:metadata:"
)

// Markers looks at the Go types of one file that controller-gen makes CRDs of. Each that is marked as the storage
// version has to carry the marker that puts the opt-in label on the CRD. Its value is "true", or "false" for a CRD that
// is left out on purpose. It returns the names of all such types, and a finding for each that carries neither.
//
// A type that is the only version, which single decides by the name, needs none: there is nothing to migrate yet, as
// notLabelled has it of CRDs. The other versions' types are not asked: they leave the repository when their version
// does, and their markers with them.
func Markers(file string, source []byte, labelKey string, single func(name string) bool) (types []string, findings []finding.Finding, err error) {
	files := token.NewFileSet()
	parsed, err := parse(files, file, source)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range typesIn(parsed) {
		if !slices.Contains(t.markers, storageMarker) {
			continue
		}
		name := parsed.Name.Name + "." + t.name.Name
		types = append(types, name)
		if why := notMarked(t.markers, labelKey); why != "" && (!single(t.name.Name) || labels(t.markers, labelKey)) {
			findings = append(findings, finding.Finding{
				Rule: NoMarker, Severity: finding.Error, Place: finding.Place{File: file, Line: files.Position(t.name.Pos()).Line},
				Why: fmt.Sprintf("%s is the storage version's type, and %s", name, why),
				Remediation: fmt.Sprintf("write // %slabels=\"%s=%s\" above the type, or the same with %s to leave the CRD out",
					metadataMarker, labelKey, v1alpha1.MigrateLabelValue, v1alpha1.MigrateLabelExcluded),
			})
		}
	}
	return types, findings, nil
}

func parse(files *token.FileSet, file string, source []byte) (*ast.File, error) {
	parsed, err := parser.ParseFile(files, file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read as Go: %w", file, err)
	}
	return parsed, nil
}

// TypeNames are the names of the types in one file, without its package.
func TypeNames(file string, source []byte) ([]string, error) {
	parsed, err := parse(token.NewFileSet(), file, source)
	if err != nil {
		return nil, err
	}
	return words.Of(typesIn(parsed), func(t goType) string { return t.name.Name }), nil
}

// goType is a type with the lines that begin with a plus in the comments above it.
type goType struct {
	name    *ast.Ident
	markers []string
}

// typesIn gives a type the comments that controller-gen gives it: its doc comment, and the comment before that one.
func typesIn(file *ast.File) []goType {
	var types []goType
	previous := file.Name.End()
	for _, declaration := range file.Decls {
		if d, ok := declaration.(*ast.GenDecl); ok && d.Tok == token.TYPE {
			for _, spec := range d.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				comments := []*ast.CommentGroup{d.Doc, t.Doc}
				if d.Lparen == token.NoPos {
					comments = append(comments, lastBetween(file.Comments, previous, d))
				}
				types = append(types, goType{name: t.Name, markers: markersIn(comments)})
			}
		}
		previous = declaration.End()
	}
	return types
}

// lastBetween is the comment above a declaration that is not its doc comment.
func lastBetween(comments []*ast.CommentGroup, after token.Pos, d *ast.GenDecl) *ast.CommentGroup {
	var last *ast.CommentGroup
	for _, comment := range comments {
		if comment.Pos() > after && comment.End() < d.Pos() && comment != d.Doc {
			last = comment
		}
	}
	return last
}

func markersIn(comments []*ast.CommentGroup) []string {
	var markers []string
	for _, group := range comments {
		if group == nil {
			continue
		}
		for _, comment := range group.List {
			text, isLine := strings.CutPrefix(comment.Text, "//")
			if text = strings.TrimSpace(text); isLine && strings.HasPrefix(text, "+") {
				markers = append(markers, text)
			}
		}
	}
	return markers
}

// notMarked says what is wrong with the opt-in marker, nothing if it is right.
func notMarked(markers []string, labelKey string) string {
	for _, marker := range markers {
		for _, label := range labelsIn(marker) {
			key, value, _ := strings.Cut(label, "=")
			switch {
			case key != labelKey:
			case value == v1alpha1.MigrateLabelValue, value == v1alpha1.MigrateLabelExcluded:
				return ""
			default:
				return fmt.Sprintf("its marker gives the label %s the value %q, and only %q opts in", labelKey, value, v1alpha1.MigrateLabelValue)
			}
		}
	}
	return fmt.Sprintf("no marker puts the label %s on its CRD", labelKey)
}

// labels reports whether a marker names the opt-in label, whatever its value.
func labels(markers []string, labelKey string) bool {
	return slices.ContainsFunc(markers, func(marker string) bool {
		return slices.ContainsFunc(labelsIn(marker), func(label string) bool {
			key, _, _ := strings.Cut(label, "=")
			return key == labelKey
		})
	})
}

var (
	// labelsArgument is one argument of the metadata marker; a list has braces, or semicolons between its items.
	labelsArgument = regexp.MustCompile("(?:^|,)labels=(\\{[^}]*\\}|(?:\"[^\"]*\"|`[^`]*`|[^,;\"`]+)(?:;(?:\"[^\"]*\"|`[^`]*`|[^,;\"`]+))*)")
	labelsItem     = regexp.MustCompile("[^\\s{},;\"`]+")
)

// labelsIn are the labels, key=value, that a marker puts on a CRD.
func labelsIn(marker string) []string {
	arguments, ok := strings.CutPrefix(marker, metadataMarker)
	if !ok {
		return nil
	}
	if found := labelsArgument.FindStringSubmatch(arguments); found != nil {
		return labelsItem.FindAllString(found[1], -1)
	}
	return nil
}
