package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// aVersion is what a release may be called: a semantic version with a v before it, as Go modules have it.
var aVersion = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// release is what is written for a version.
type release struct {
	version, out, kustomize string
	images, programs        []string // platforms
}

// build is a release under way.
type build struct {
	release
	source
	news   string // what the changelog has about this version
	digest string // of the image
}

// number is the version as charts and archives name it, without the v.
func (b *build) number() string { return strings.TrimPrefix(b.release.version, "v") }

// write writes every file of the release into the folder out. What an earlier run wrote there is replaced.
func (r release) write(ctx context.Context, root string) error {
	if !aVersion.MatchString(r.version) {
		return fmt.Errorf("VERSION is %q; write it like v0.1.0", r.version)
	}
	source, err := look(ctx, root)
	if err != nil {
		return err
	}
	// Files that Git does not know would be compiled in and packed, too.
	changed, err := source.output(ctx, nil, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the work tree of %s has changes that are not committed, so the release would not be that of a commit; commit them first", root)
	}
	source.version = r.version
	b := &build{release: r, source: source}
	if b.news, err = b.changes(); err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "moult-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, step := range []func(context.Context, string) error{b.image, b.archives, b.manifests, b.schemas, b.chart, b.krew, b.notes, b.provenance, b.checksums} {
		if err := step(ctx, work); err != nil {
			return err
		}
	}
	fmt.Printf("moult %s (%s) in %s\n", r.version, source.revision[:12], r.out)
	return nil
}

// image writes the image as an OCI layout in one archive, and its bills.
func (b *build) image(ctx context.Context, work string) error {
	folder := filepath.Join(work, "image")
	digest, err := writeImage(ctx, b.source, folder, "moult-controller", b.images)
	if err != nil {
		return err
	}
	b.digest = digest.String()
	files, err := filesOf(filepath.Join(folder, "oci"))
	if err != nil {
		return err
	}
	if err := b.tarball("moult-controller-"+b.number()+".oci.tar.gz", files); err != nil {
		return err
	}
	for _, platform := range b.images {
		name := fileName("moult-controller", platform) + ".cdx.json"
		if err := os.Rename(filepath.Join(folder, name), filepath.Join(b.out, name)); err != nil {
			return err
		}
	}
	return nil
}

// shells are those that `moult completion` knows, and the file that each wants.
var shells = map[string]string{"bash": "moult.bash", "zsh": "_moult", "fish": "moult.fish", "powershell": "moult.ps1"}

// archives writes one archive of the command line for each platform, with the license and completions, and its bill.
func (b *build) archives(ctx context.Context, work string) error {
	shared := map[string]file{}
	license, err := os.ReadFile(filepath.Join(b.root, "LICENSE"))
	if err != nil {
		return err
	}
	shared["LICENSE"] = file{license, 0o644}
	programs := filepath.Join(work, "image", "programs") // some are in the image, too
	own, err := b.compile(ctx, programs, runtime.GOOS+"/"+runtime.GOARCH, "moult")
	if err != nil {
		return err
	}
	for _, shell := range slices.Sorted(maps.Keys(shells)) {
		script, err := b.output(ctx, nil, own[0], "completion", shell)
		if err != nil {
			return err
		}
		shared["completions/"+shells[shell]] = file{[]byte(script + "\n"), 0o644}
	}
	for _, platform := range b.programs {
		program, err := b.compile(ctx, programs, platform, "moult")
		if err != nil {
			return err
		}
		if _, err := writeBill(program[0], filepath.Join(b.out, fileName("moult", platform)), b.source); err != nil {
			return err
		}
		content, err := os.ReadFile(program[0])
		if err != nil {
			return err
		}
		files := maps.Clone(shared)
		pack := b.tarball
		if strings.HasPrefix(platform, "windows/") {
			files["moult.exe"], pack = file{content, 0o755}, b.zipball
		} else {
			files["moult"] = file{content, 0o755}
		}
		if err := pack(b.archiveName(platform), files); err != nil {
			return err
		}
	}
	return nil
}

// archiveName is what the archive of the command line for a platform is called.
func (b *build) archiveName(platform string) string {
	name := "moult_" + b.number() + "_" + strings.ReplaceAll(platform, "/", "_")
	if strings.HasPrefix(platform, "windows/") {
		return name + ".zip"
	}
	return name + ".tar.gz"
}
