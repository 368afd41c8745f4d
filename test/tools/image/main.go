// Command image writes the container image of moult-controller, and a bill of materials for each platform, into a
// folder. It needs Go and git, no daemon and no base image: a static binary runs from an empty one.
//
//	make image                     # the same, as it is meant to be run
//	go run . -root ../../.. -out ../../../bin/image
//
// The folder holds an OCI layout (oci/), which `go tool crane push` takes, an archive per platform for `docker load`,
// `ctr image import` or `kind load image-archive`, and the bills as CycloneDX. Built from the same commit with the same
// Go, the image has the same digest: all times in it are that of the commit.
//
// binary.go compiles, bill.go lists what was compiled in, image.go puts them together.
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
	out := flag.String("out", "bin/image", "folder to write into; what an earlier run left there is replaced")
	name := flag.String("name", "moult-controller", "name of the image in the archives")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64", "platforms, with commas between")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *root, *out, *name, strings.Split(*platforms, ","))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, out, name string, platforms []string) error {
	source, err := look(ctx, root)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	images := map[string]v1.Image{}
	for _, platform := range platforms {
		programs, err := source.compile(ctx, filepath.Join(out, "programs"), platform)
		if err != nil {
			return err
		}
		bill, err := billOf(programs[0], source)
		if err != nil {
			return err
		}
		file := filepath.Join(out, fileName("moult-controller", platform)+".cdx.json")
		if err := os.WriteFile(file, bill, 0o644); err != nil { //nolint:gosec // to be published
			return err
		}
		if images[platform], err = assemble(programs, bill, source, platform); err != nil {
			return fmt.Errorf("image for %s: %w", platform, err)
		}
	}
	digest, err := write(out, name+":"+source.version, images)
	if err != nil {
		return err
	}
	fmt.Printf("%s:%s %s in %s\n", name, source.version, digest, out)
	return nil
}

func fileName(name, platform string) string {
	return name + "-" + strings.ReplaceAll(platform, "/", "-")
}
