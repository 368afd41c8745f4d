package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// billOf is the bill of materials of a program, in CycloneDX. It lists what the linker has recorded in the program
// itself, so it cannot name a module that is not in it, nor leave one out.
func billOf(program string, s source) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	bom := cyclonedx.NewBOM()
	main := module(debug.Module{Path: info.Main.Path, Version: s.version})
	main.Type = cyclonedx.ComponentTypeApplication
	bom.Metadata = &cyclonedx.Metadata{Timestamp: s.time.Format("2006-01-02T15:04:05Z"), Component: &main}
	components := []cyclonedx.Component{module(debug.Module{Path: "std", Version: info.GoVersion})}
	for _, dependency := range info.Deps {
		components = append(components, module(*dependency))
	}
	bom.Components = &components
	var text bytes.Buffer
	encoder := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(bom, cyclonedx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("bill of materials of %s: %w", program, err)
	}
	return text.Bytes(), nil
}

// writeBill writes the bill of a program into the file path.cdx.json and returns it.
func writeBill(program, path string, s source) ([]byte, error) {
	bill, err := billOf(program, s)
	if err != nil {
		return nil, err
	}
	return bill, os.WriteFile(path+".cdx.json", bill, 0o644) //nolint:gosec // to be published
}

// module is what the module proxy and scanners know a module by. One that is replaced is what it is replaced by.
func module(m debug.Module) cyclonedx.Component {
	if m.Replace != nil {
		m = *m.Replace
	}
	id := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	component := cyclonedx.Component{BOMRef: id, PackageURL: id, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version}
	if m.Sum != "" {
		component.Properties = &[]cyclonedx.Property{{Name: "go.sum", Value: m.Sum}}
	}
	return component
}
