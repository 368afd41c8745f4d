package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/crddiff"
)

// fetch has the go command download a release and check it against the sum, and returns its zip. A release that asks for a
// newer Go than this one is there all the same: nobody builds it.
func fetch(ctx context.Context, module string, r release) (file string, err error) {
	name := module + "@" + r.version
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", name)
	command.Dir = os.TempDir() // no go.mod has a say
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	var errOut bytes.Buffer
	command.Stderr = &errOut
	out, failed := command.Output()
	var answer struct{ Zip, Sum, Error string }
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("%s cannot be downloaded: %w: %s", name, errors.Join(failed, err), errOut.String())
	}
	switch {
	case answer.Zip == "" || answer.Sum == "":
		return "", fmt.Errorf("%s cannot be downloaded: %s", name, answer.Error)
	case answer.Sum != r.sum:
		return "", fmt.Errorf("%s has the sum %s, and releases.go says %s", name, answer.Sum, r.sum)
	}
	return answer.Zip, nil
}

// unpack writes the files of a release's zip into a folder.
func unpack(file, module string, r release, into string) error {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer archive.Close()
	files, err := fs.Sub(archive, module+"@"+r.version)
	if err != nil {
		return err
	}
	return os.CopyFS(into, files)
}

// crdsIn renders some folders of a module and reads the CRDs.
func crdsIn(dir string, folders []string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, folder := range folders {
		path := filepath.Join(dir, folder)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue // it lay elsewhere in that release
		}
		rendering, err := render.Folder(path, render.Options{})
		if err != nil {
			return nil, err
		}
		for _, object := range rendering.Objects {
			if !object.IsCRD() {
				continue
			}
			crd, undeclared, err := crddiff.DecodeStrictly(object.Unstructured)
			switch {
			case err != nil:
				return nil, err
			case len(undeclared) > 0:
				return nil, fmt.Errorf("%s is said to have fields that no CRD has: %v", object.GetName(), undeclared)
			}
			crds = append(crds, crd)
		}
	}
	if len(crds) == 0 {
		return nil, fmt.Errorf("%s has no CRDs in %v", dir, folders)
	}
	return crds, nil
}
