package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// sum is the SHA-256 of a file of the release, in hexadecimal.
func (b *build) sum(name string) (string, error) {
	content, err := os.ReadFile(filepath.Join(b.out, name))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

// written are the names of all files that the release has so far, in order.
func (b *build) written() (names []string, err error) {
	entries, err := os.ReadDir(b.out)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return slices.Sorted(slices.Values(names)), err
}

// checksums writes checksums.txt, which `sha256sum --check` takes.
func (b *build) checksums(context.Context, string) error {
	names, err := b.written()
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, name := range names {
		sum, err := b.sum(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, name)
	}
	return b.put("checksums.txt", lines.String())
}

// provenance writes an in-toto statement with the predicate of SLSA 1.0 (https://slsa.dev/spec/v1.0/provenance): which files
// came from which commit. Whoever signs it vouches for it.
func (b *build) provenance(context.Context, string) error {
	type digest map[string]string
	type subject struct {
		Name   string `json:"name"`
		Digest digest `json:"digest"`
	}
	names, err := b.written()
	if err != nil {
		return err
	}
	subjects := []subject{{"moult-controller", digest{"sha256": strings.TrimPrefix(b.digest, "sha256:")}}}
	for _, name := range names {
		sum, err := b.sum(name)
		if err != nil {
			return err
		}
		subjects = append(subjects, subject{name, digest{"sha256": sum}})
	}
	const repository = "https://github.com/moult-dev/moult"
	statement := map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":            repository + "/blob/main/test/tools/release/release.go",
				"externalParameters":   map[string]any{"version": b.release.version, "platforms": b.programs, "imagePlatforms": b.images},
				"internalParameters":   map[string]any{"go": runtime.Version()},
				"resolvedDependencies": []any{map[string]any{"uri": "git+" + repository, "digest": digest{"gitCommit": b.revision}}},
			},
			"runDetails": map[string]any{"builder": map[string]any{"id": repository + "/blob/main/Makefile"}},
		},
	}
	text, err := json.MarshalIndent(statement, "", "  ")
	if err != nil {
		return err
	}
	return b.put("provenance.intoto.json", string(text)+"\n")
}

// krew writes the manifest of the kubectl plug-in (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest).
func (b *build) krew(context.Context, string) error {
	type files struct {
		From, To string
	}
	type platform struct {
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		URI, SHA256, Bin string
		Files            []files
	}
	downloads, err := b.setting("DOWNLOADS")
	if err != nil {
		return err
	}
	downloads = strings.ReplaceAll(downloads, "VERSION", b.release.version)
	var platforms []platform
	for _, name := range b.programs {
		system, architecture, _ := strings.Cut(name, "/")
		archive := b.archiveName(name)
		sum, err := b.sum(archive)
		if err != nil {
			return err
		}
		p := platform{URI: downloads + "/" + archive, SHA256: sum, Bin: "moult"}
		if system == "windows" {
			p.Bin += ".exe"
		}
		p.Selector.MatchLabels = map[string]string{"os": system, "arch": architecture}
		p.Files = []files{{p.Bin, "."}, {"LICENSE", "."}}
		platforms = append(platforms, p)
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin", "metadata": map[string]any{"name": "moult"},
		"spec": map[string]any{
			"version": b.release.version, "homepage": "https://github.com/moult-dev/moult",
			"shortDescription": "Remove old versions of CRDs without losing objects",
			"description":      "Moult migrates the stored objects of CustomResourceDefinitions, proves it,\nand reports whether an old version can be removed.\n",
			"platforms":        platforms,
		},
	})
	if err != nil {
		return err
	}
	return b.put("moult.krew.yaml", string(text))
}

// changes is the section of the changelog about this version.
func (b *build) changes() (string, error) {
	content, err := os.ReadFile(filepath.Join(b.root, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	for _, section := range strings.Split("\n"+string(content), "\n## ")[1:] {
		if title, text, _ := strings.Cut(section, "\n"); strings.HasPrefix(title, "["+b.number()+"] ") {
			text = elsewhere.ReplaceAllString(links.ReplaceAllString(text, ""), "](https://github.com/moult-dev/moult/blob/"+b.release.version+"/$1)")
			return strings.TrimSpace(text), nil
		}
	}
	return "", fmt.Errorf("CHANGELOG.md has no section about %[1]s; give [Unreleased] the title `## [%[1]s] - YYYY-MM-DD` and commit it", b.number())
}

var (
	// links are the lines at the end of the changelog that say where its titles lead.
	links = regexp.MustCompile(`(?m)^\[[^]]+\]: .*$`)
	// elsewhere are links to other files of the repository, which a release's own page does not lie beside.
	elsewhere = regexp.MustCompile(`\]\(([^:)]+)\)`)
)

// notes writes what the changelog has about this version, and the image.
func (b *build) notes(context.Context, string) error {
	return b.put("release-notes.md", "# Moult "+b.release.version+"\n\n"+b.news+"\n\nImage: `"+b.digest+"`\n")
}
