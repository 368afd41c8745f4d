package repository

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"sigs.k8s.io/kustomize/api/konfig"
)

// programs are endings of files that are no manifests, no data and nothing that a build makes manifests of, and in which no commands are looked for.
var programs = []string{
	".c", ".cc", ".class", ".cpp", ".cs", ".css", ".dll", ".eot", ".exe", ".gif", ".go", ".h", ".hpp", ".html", ".ico", ".jar", ".java",
	".jpeg", ".jpg", ".js", ".jsx", ".kt", ".md", ".mdx", ".mjs", ".mov", ".mp4", ".pdf", ".php", ".png", ".proto", ".rb", ".rs", ".rst",
	".scala", ".so", ".svg", ".swift", ".ts", ".tsx", ".ttf", ".vue", ".wasm", ".webp", ".woff", ".woff2",
}

// reads reports whether the content of a file may be needed to tell what a cluster gets. A chart's template may take in any
// file of the chart, whatever it is called.
func (c *checkout) reads(name string) bool {
	return !slices.Contains(programs, strings.ToLower(path.Ext(name))) ||
		slices.ContainsFunc(c.charts, func(chart string) bool { return strings.HasPrefix("/"+name, chart) })
}

// standsAlone reports whether what was named is a file of CRDs alone, so that nothing else of the repository matters.
func (c *checkout) standsAlone(ctx context.Context, inside string, named *object.TreeEntry) (bool, error) {
	if named == nil || named.Mode != filemode.Regular && named.Mode != filemode.Executable ||
		slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(inside)) {
		return false, nil
	}
	if err := fetchMissing(ctx, c.repository, []plumbing.Hash{named.Hash}); err != nil {
		return false, err
	}
	blob, err := c.repository.BlobObject(named.Hash)
	if err != nil {
		return false, err
	}
	content, err := object.NewFile(inside, named.Mode, blob).Contents()
	if err != nil {
		return false, err
	}
	kinds := kindLine.FindAllStringSubmatch(content, -1)
	return len(kinds) > 0 && !otherwise.MatchString(content) &&
		!slices.ContainsFunc(kinds, func(kind []string) bool { return kind[1] != "CustomResourceDefinition" }), nil
}

// otherwise finds documents that are written in a way in which their kind is not looked for.
var otherwise = regexp.MustCompile(`(?m)^(---\s*)?[{\[?&!]`)

// kindLine is what kind a document of YAML is of.
var kindLine = regexp.MustCompile(`(?m)^["']?kind["']?\s*:\s*["']?([^"'\s#]*)`)
