package desired

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/optin"
)

// units are what an object makes its tool apply: one, or with an ApplicationSet as many as it generates.
func (f *follower) units(p pointer) []*Unit {
	if p.by.GetKind() == "ApplicationSet" {
		return f.generated(p)
	}
	return []*Unit{f.unit(p)}
}

// unit builds what a Kustomization or an Application applies.
func (f *follower) unit(p pointer) *Unit {
	u := &Unit{Name: unitName(p), Tool: optin.ArgoCD, By: p.by, Parent: p.parent, Deliveries: optin.DeliveriesOf(p.by.Unstructured)}
	if p.by.GetKind() == "Kustomization" {
		u.Tool = optin.Flux
		f.flux(u)
	} else {
		f.argoCD(u)
	}
	return u
}

// build adds a folder to a unit.
func (f *follower) build(u *Unit, path string, build func(dir string) (*render.Rendering, error)) {
	dir := folder(f.tree, path)
	if dir == "" {
		u.Unseen = noSuchFolder(path)
		return
	}
	rendering, err := build(dir)
	if err != nil {
		u.Err = f.inTree(err)
		return
	}
	u.Dirs = append(u.Dirs, f.tree.Relative(dir))
	u.Objects = append(u.Objects, objectsOf(rendering, f.tree)...)
}

// inTree writes the paths in an error as a person knows them: where the tree lies on disk is nobody's concern, and
// another place each time.
func (f *follower) inTree(err error) error {
	return errors.New(strings.NewReplacer(f.tree.Root+string(filepath.Separator), "", f.tree.Root, "the repository").Replace(err.Error()))
}

// options are what a delivery adds to a folder.
func (f *follower) options(d optin.Delivery) render.Options {
	o := render.Options{
		Components: d.Components, IgnoreMissingComponents: d.IgnoreMissingComponents, Labels: d.Labels, Root: f.tree.Root,
	}
	for _, patch := range d.Patches {
		o.Patches = append(o.Patches, kustomizePatch(patch))
	}
	return o
}

// kustomizePatch is a delivery's patch as Kustomize knows it.
func kustomizePatch(patch optin.InlinePatch) types.Patch {
	converted := types.Patch{Patch: patch.Patch}
	if t := patch.Target; t != nil {
		converted.Target = &types.Selector{
			ResId: resid.ResId{
				Gvk:  resid.Gvk{Group: t["group"], Version: t["version"], Kind: t["kind"]},
				Name: t["name"], Namespace: t["namespace"],
			},
			LabelSelector: t["labelSelector"], AnnotationSelector: t["annotationSelector"],
		}
	}
	return converted
}

// hasFile tells whether there is a file in a folder.
func hasFile(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && !info.IsDir()
}
