package optin

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"sigs.k8s.io/kustomize/api/types"

	optincomponent "github.com/moult-dev/moult/clusters/components/opt-in"
	"github.com/moult-dev/moult/clusters/desired/survey"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// change is what one file is to hold.
type change struct {
	file     string
	old, new []byte // old is nil if there is no such file
}

// plan is what there is to do, and the patches that it brings into the build.
type plan struct {
	changes []change
	patches []types.Patch
}

// add puts the Component into a kustomization. It writes only if a CRD will be labelled then: for Kustomize, a
// Component that matches nothing is no error.
func (o *command) add(ctx context.Context, path string) error {
	file, err := kustomizationAt(path)
	if err != nil {
		return err
	}
	p, err := o.plan(file)
	if err != nil {
		return err
	}
	labelled, others, err := o.foresee(ctx, filepath.Dir(file), p.patches)
	switch {
	case err != nil:
		return err
	case len(labelled) == 0:
		return cli.NotDone{Sentence: fmt.Sprintf("%s builds no CRD that the Component matches, so nothing was written; use it where the CRDs are built (Kustomize does not see the crds/ folder of a Helm chart)", filepath.Dir(file))}
	case len(p.changes) == 0:
		if err := o.already(ctx, file, filepath.Dir(file), labelled); err != nil {
			return err
		}
	}
	if o.dryRun {
		for _, c := range p.changes {
			o.show(c)
		}
		return nil
	}
	if err := writeAll(p.changes); err != nil {
		return err
	}
	for _, c := range p.changes {
		fmt.Fprintf(o.Out, "wrote %s\n", c.file)
	}
	fmt.Fprintf(o.Out, "labelled: %s\n", strings.Join(labelled, ", "))
	if len(others) > 0 {
		fmt.Fprintf(o.Out, "not labelled: %s\n", strings.Join(others, ", "))
	}
	return nil
}

func kustomizationAt(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", input.NoSuchPath(path, err)
	}
	if !info.IsDir() {
		if render.KustomizationIn(filepath.Dir(path)) != filepath.Clean(path) {
			return "", fmt.Errorf("%s is not a kustomization; name one, or its folder", path)
		}
		return path, nil
	}
	file := render.KustomizationIn(path)
	if file != "" && render.IsComponent(file) {
		return "", fmt.Errorf("%s is a Component; name the kustomization that lists it", path)
	}
	if file == "" {
		return "", fmt.Errorf("there is no kustomization in %s; make one with `kustomize create --autodetect`, or let the tool that applies the folder patch it: --print flux or --print argocd", path)
	}
	return file, nil
}

// plan has no changes if all is there already.
func (o *command) plan(file string) (plan, error) {
	dir := filepath.Dir(file)
	old, err := os.ReadFile(file)
	if err != nil {
		return plan{}, err
	}
	text, restore := withoutCarriageReturns(old)
	k, err := parseKustomization(file, text)
	if err != nil || k.optsIn(dir, o.LabelKey) {
		return plan{}, err
	}
	if err := oneDocument(file, text); err != nil {
		return plan{}, err
	}
	var p plan
	component, reference := optincomponent.Component, optincomponent.Remote+o.ref
	if o.ref == "" {
		folder := cmp.Or(o.folder, filepath.Join(dir, vendorFolder))
		if reference, err = reach(dir, folder); err != nil {
			return plan{}, err
		}
		if component, p.changes, err = o.vendor(folder); err != nil {
			return plan{}, err
		}
	}
	edited, err := k.withComponent(reference)
	if err != nil {
		return plan{}, fmt.Errorf("%s: %w", file, err)
	}
	p.changes = append(p.changes, change{file: file, old: old, new: restore(edited)})
	p.patches, err = patchesOf(component)
	return p, err
}

func patchesOf(component []byte) ([]types.Patch, error) {
	var listed types.Kustomization
	err := unpacking.Unmarshal(component, &listed)
	return listed.Patches, err
}

// reach is a folder's path from another one, as a kustomization writes it.
func reach(from, folder string) (string, error) {
	absoluteFrom, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	absoluteTo, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	path, err := filepath.Rel(absoluteFrom, absoluteTo)
	return filepath.ToSlash(path), err
}

// vendor is the Component in a folder, and the change that writes it there unless the folder has it already.
func (o *command) vendor(folder string) ([]byte, []change, error) {
	want, err := o.component()
	if err != nil {
		return nil, nil, err
	}
	file := render.KustomizationIn(folder)
	if file == "" {
		return want, []change{{file: filepath.Join(folder, "kustomization.yaml"), new: want}}, nil
	}
	has, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	if k, err := parseKustomization(file, has); err != nil || !render.IsComponent(file) || !survey.SetsLabel(k.node, folder, o.LabelKey) {
		return nil, nil, fmt.Errorf("%s is there already and is not a Component that sets the label %s; name another folder with --folder", file, o.LabelKey)
	}
	if !o.selection.everything() && !bytes.Equal(has, want) {
		return nil, nil, fmt.Errorf("%s is there already and chooses other CRDs; name another folder with --folder", file)
	}
	return has, nil, nil
}

// show prints a change as a unified diff.
func (o *command) show(c change) {
	name := c.file
	if c.old == nil {
		name = os.DevNull
	}
	_, text, _ := bytes.Cut(diff.Diff(name, c.old, c.file, c.new), []byte("\n")) // the first line repeats the next two
	fmt.Fprintf(o.Out, "%s", text)
}

// foresee builds the kustomization with patches and reports which CRDs are labelled then, and which are not.
func (o *command) foresee(ctx context.Context, dir string, patches []types.Patch) (labelled, others []string, err error) {
	rendering, err := input.Folder(ctx, dir, render.Options{Patches: patches})
	if err != nil {
		return nil, nil, err
	}
	for _, crd := range delivery.CRDs(rendering.Objects) {
		if crd.OptedIn(o.LabelKey) {
			labelled = append(labelled, crd.GetName())
		} else {
			others = append(others, crd.GetName())
		}
	}
	return labelled, others, nil
}
