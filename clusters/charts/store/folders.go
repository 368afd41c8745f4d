package store

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
)

// inFolders looks into the folders that were named; nil if the chart is in none.
func (s *Store) inFolders(r charts.Reference) (*charts.Chart, error) {
	for _, folder := range s.options.Folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		held := map[string]*charts.Chart{}
		var versions []string
		for _, entry := range entries {
			chart, err := chartIn(folder, entry, nameOf(r))
			if err != nil {
				return nil, err
			}
			if chart != nil {
				held[chart.Version()] = chart
				versions = append(versions, chart.Version())
			}
		}
		asked := r.Version
		if r.Tag != "" {
			asked = versionOf(r.Tag)
		}
		version, err := newest(asked, versions)
		if err != nil {
			return nil, err
		}
		if version != "" {
			return held[version], nil
		}
	}
	return nil, nil
}

// chartIn reads an entry of a folder if it may be the chart of a name; nil if it is not.
func chartIn(folder string, entry os.DirEntry, name string) (*charts.Chart, error) {
	file := filepath.Join(folder, entry.Name())
	if entry.Name() != name && !strings.HasPrefix(entry.Name(), name+"-") {
		return nil, nil
	}
	var chart *charts.Chart
	var err error
	switch info, unread := os.Stat(file); {
	case unread != nil:
		return nil, unread
	case info.IsDir():
		if _, none := os.Stat(filepath.Join(file, "Chart.yaml")); none == nil {
			chart, err = charts.Folder(file, file)
		}
	case info.Mode().IsRegular() && strings.HasSuffix(file, ".tgz"):
		var content []byte
		if content, err = os.ReadFile(file); err == nil {
			chart, err = charts.Archive(content)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if chart == nil || chart.Name() != name {
		return nil, nil
	}
	chart.Dir = "" // findings are read beside the files of the repository
	return chart, nil
}

// nameOf is the name of a chart, which with OCI may be the last part of the address.
func nameOf(r charts.Reference) string {
	if r.Name != "" {
		return path.Base(r.Name)
	}
	return path.Base(r.Repository)
}

// tagOf is the tag of a version: a tag has no plus sign.
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

func versionOf(tag string) string { return strings.ReplaceAll(tag, "_", "+") }
