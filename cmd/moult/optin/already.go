package optin

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	optincomponent "github.com/moult-dev/moult/clusters/components/opt-in"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/policies/delivery"
)

// already says of a kustomization that sets the label by itself which of the flags that say how were not applied. It is an
// error if CRDs that they choose do not carry the label, or there are none.
func (o *command) already(ctx context.Context, file, dir string, labelled []string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	k, err := parseKustomization(file, content)
	if err != nil {
		return err
	}
	ignored, err := o.ignoredPlace(k, dir)
	if err != nil {
		return err
	}
	if asked := o.selection.flags(); len(asked) > 0 {
		chosen, err := o.chosen(ctx, dir)
		if err != nil {
			return err
		}
		if err := contradicts(file, dir, asked, chosen, labelled); err != nil {
			return err
		}
		if len(chosen) < len(labelled) {
			ignored = append(ignored, asked...)
		}
	}
	fmt.Fprintf(o.Out, "%s sets the label already\n", file)
	if len(ignored) > 0 {
		fmt.Fprintf(o.Out, "not applied: %s; take what sets the label out of the kustomization first, or change it by hand\n", strings.Join(ignored, ", "))
	}
	return nil
}

// ignoredPlace are the flags that say where the Component is, if the kustomization does not list that place.
func (o *command) ignoredPlace(k kustomization, dir string) (flags []string, err error) {
	if o.ref != "" && !slices.Contains(k.components(), optincomponent.Remote+o.ref) {
		flags = append(flags, "--ref")
	}
	if o.folder != "" {
		reference, err := reach(dir, o.folder)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(k.components(), reference) {
			flags = append(flags, "--folder")
		}
	}
	return flags, nil
}

// contradicts is the error of flags that choose no CRD, or one that does not carry the label.
func contradicts(file, dir string, flags, chosen, labelled []string) error {
	without := slices.DeleteFunc(slices.Clone(chosen), func(crd string) bool { return slices.Contains(labelled, crd) })
	switch {
	case len(chosen) == 0:
		return cli.NotDone{Sentence: fmt.Sprintf("%s builds no CRD that %s matches, so nothing was written; %s sets the label already, on %s",
			dir, strings.Join(flags, " and "), file, strings.Join(labelled, ", "))}
	case len(without) > 0:
		return cli.NotDone{Sentence: fmt.Sprintf("%s already sets the label on CRDs that it chooses itself, so %s was not applied and nothing was written; %s does not carry the label. Change that choice, or remove it and run this again",
			file, strings.Join(flags, " and "), strings.Join(without, ", "))}
	}
	return nil
}

// flags are those that choose CRDs.
func (s selection) flags() []string {
	var flags []string
	if s.names != "" {
		flags = append(flags, "--crds")
	}
	if s.annotations != "" {
		flags = append(flags, "--annotated")
	}
	return flags
}

// choiceKey is a label that no CRD has.
const choiceKey = "choice.moult.dev/migrate"

// chosen are the CRDs that the flags choose, found out by labelling them with another label.
func (o *command) chosen(ctx context.Context, dir string) ([]string, error) {
	s := o.selection
	s.labelKey = choiceKey
	component, err := s.component()
	if err != nil {
		return nil, err
	}
	patches, err := patchesOf(component)
	if err != nil {
		return nil, err
	}
	rendering, err := input.Folder(ctx, dir, render.Options{Patches: patches})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, crd := range delivery.CRDs(rendering.Objects) {
		if crd.OptedIn(choiceKey) && crd.GetLabels()[o.LabelKey] != v1alpha1.MigrateLabelExcluded {
			names = append(names, crd.GetName())
		}
	}
	return names, nil
}
