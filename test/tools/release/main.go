// Command release writes what Moult is shipped as, from a commit, with Go and git and nothing else.
//
//	make image                      # bin/image: the container image of moult-controller, and its bills of materials
//	make release VERSION=v0.1.0     # dist: the image and every other file of a release
//	go -C test/tools/release run . -weigh $PWD/bin/image/programs/moult-linux-amd64   # what a program consists of, by module
//
// The image is a static binary on nothing: no daemon and no base image is needed. Its folder holds an OCI layout (oci/), which
// `go tool crane push` takes, an archive per platform for `docker load`, `ctr image import` or `kind load image-archive`, and
// the bills as CycloneDX. Built from the same commit with the same Go, every file is the same: all times are the commit's.
//
// binary.go compiles, with the template engine of overlay.go and without what cuts.go lists. bill.go lists what was compiled in,
// image.go makes the image. release.go makes the files of a release with archive.go (archives), weigh.go (sizes), manifests.go (what
// is applied to a cluster) and statements.go (checksums, provenance, krew, notes).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	root := flag.String("root", ".", "folder of the repository")
	out := flag.String("out", "", "folder to write into, by default bin/image or dist; what an earlier run left there is replaced")
	name := flag.String("name", "moult-controller", "name of the image in the archives")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64", "platforms of the image, with commas between")
	version := flag.String("release", "", "the version to release, like v0.1.0; without it only the image is written")
	cli := flag.String("cli-platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64", "platforms of the command line in a release")
	kustomize := flag.String("kustomize", "kustomize", "the kustomize program that builds the manifests of a release")
	weighed := flag.String("weigh", "", "a program for Linux, to list what it consists of; nothing is written")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	switch {
	case *weighed != "":
		err = weigh(*weighed, os.Stdout)
	case *version == "":
		err = run(ctx, *root, or(*out, "bin/image"), *name, strings.Split(*platforms, ","))
	default:
		err = release{version: *version, out: or(*out, "dist"), kustomize: *kustomize,
			images: strings.Split(*platforms, ","), programs: strings.Split(*cli, ",")}.write(ctx, *root)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func or(value, standard string) string {
	if value == "" {
		return standard
	}
	return value
}

func run(ctx context.Context, root, out, name string, platforms []string) error {
	source, err := look(ctx, root)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	digest, err := writeImage(ctx, source, out, name, platforms)
	if err != nil {
		return err
	}
	fmt.Printf("%s:%s %s in %s\n", name, source.version, digest, out)
	return nil
}

// writeImage writes the image of all platforms and returns the digest of its index.
func writeImage(ctx context.Context, source source, out, name string, platforms []string) (v1.Hash, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return v1.Hash{}, err
	}
	images := map[string]v1.Image{}
	for _, platform := range platforms {
		programs, err := source.compile(ctx, filepath.Join(out, "programs"), platform, "moult-controller", "moult")
		if err != nil {
			return v1.Hash{}, err
		}
		bill, err := writeBill(programs[0], filepath.Join(out, fileName("moult-controller", platform)), source)
		if err != nil {
			return v1.Hash{}, err
		}
		if images[platform], err = assemble(programs, bill, source, platform); err != nil {
			return v1.Hash{}, fmt.Errorf("image for %s: %w", platform, err)
		}
	}
	return write(out, name+":"+source.version, images)
}

func fileName(name, platform string) string {
	return name + "-" + strings.ReplaceAll(platform, "/", "-")
}
