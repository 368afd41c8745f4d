package desired

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/artifact"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/flux"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// flux fills a unit with what kustomize-controller would apply.
func (f *follower) flux(ctx context.Context, u *delivery.Unit) {
	by, d := u.By, u.Sources[0]
	u.Suspended = by.True("spec", "suspend")
	if by.Field("spec", "kubeConfig") != nil {
		u.Unseen = "it is applied to another cluster (spec.kubeConfig)"
		f.hideBuild(ctx, u, d)
		return
	}
	if u.Unseen, u.Pinned = f.known.SourceIsHere(by.SourceRef()); u.Pinned != "" && f.Repositories != nil {
		u.Unseen, u.Pinned = fmt.Sprintf("it is taken from %s, which need not be what lies here", u.Pinned), ""
	}
	if u.Unseen != "" {
		f.hideSource(u, d)
		if u.By.SourceRef().Kind == "ExternalArtifact" {
			f.notSeen(u, f.fluxArtifact(ctx, u, d))
		} else {
			f.fluxFromElsewhere(ctx, u, d)
		}
	} else if f.build(u, d.Path, func(dir string) (*render.Rendering, error) {
		o := f.fluxOptions(u, d)
		o.Partly = true
		return render.Folder(dir, o)
	}); f.tree.Folder(d.Path) == "" {
		f.fluxFromElsewhere(ctx, u, d)
	}
	if u.Err == nil && (u.Unseen == "" || len(u.Objects) > 0) {
		u.Err = f.substitute(u)
	}
	if u.Err != nil {
		u.Objects = nil
	}
}

// hideSource remembers what of this repository may be in a source that is said to be another.
func (f *follower) hideSource(u *delivery.Unit, d delivery.Source) {
	f.hiddenOf(u).addBelowRoot(f.tree, d.Path)
	// An artifact may well be made of this repository when it is published.
	if kind := u.By.Text("spec", "sourceRef", "kind"); kind == "ExternalArtifact" {
		f.hiddenOf(u).widen(files.Data) // made in the cluster, most likely of this repository
		for _, made := range f.artifactsNamed(u.By.SourceRef()) {
			f.hiddenOf(u).widen(artifact.ScopeOf(made.generator))
		}
	} else if kind != "GitRepository" && (len(f.hiddenOf(u).files) > 0 || f.hasFolder(d.Path)) {
		f.hiddenOf(u).widen(files.Wires)
	}
}

// hasFolder reports whether a folder of this repository, of which an artifact may be made, has a folder with a path.
func (f *follower) hasFolder(name string) bool {
	name = strings.Trim(path.Clean("/"+name), "/")
	return name != "" && slices.ContainsFunc(f.tree.Folders(), func(dir string) bool { return strings.HasSuffix(dir, "/"+name) })
}

// fluxOptions are those of a Kustomization.
func (f *follower) fluxOptions(u *delivery.Unit, d delivery.Source) render.Options {
	o := flux.Options(u.By, f.options(d))
	o.Ignored = f.known.IgnoredFor(f.tree, u.By)
	return o
}

// waits reports whether a Kustomization takes variables from a ConfigMap, or its manifests from an artifact, that no unit so far
// holds or makes, but another may.
func (f *follower) waits(p pointer) bool {
	if from := p.by.SourceRef(); from.Kind == "ExternalArtifact" && !f.artifactIsSeen(from) {
		return true
	}
	return slices.ContainsFunc(p.by.Entries("spec", "postBuild", "substituteFrom"), func(from *delivery.Object) bool {
		return from.Text("kind") == "ConfigMap" && f.known.Held("ConfigMap", p.by.GetNamespace(), from.Text("name")) == nil
	})
}

// substitute does what spec.postBuild says, and remembers what is not known for it.
func (f *follower) substitute(u *delivery.Unit) error {
	unknown, err := f.known.SubstituteAll(u.By, u.Objects)
	if err != nil || len(unknown.Names) == 0 {
		return err
	}
	severity := finding.Info
	if unknown.Matters {
		severity = finding.Warning
	}
	f.unknownValues = append(f.unknownValues, unknownValues{unit: u, severity: severity, names: unknown.Names, missing: unknown.Missing})
	return nil
}

// unknownValues are variables of a Kustomization whose values are not in the repository.
type unknownValues struct {
	unit           *delivery.Unit
	severity       finding.Severity
	names, missing []string
}

// mostKustomizations is how many of them a finding names: most have their values from one ConfigMap.
const mostKustomizations = 5

// reportVariables reports unknown values, those of all Kustomizations together.
func (f *follower) reportVariables() {
	for _, severity := range []finding.Severity{finding.Warning, finding.Info} {
		of := slices.DeleteFunc(slices.Clone(f.unknownValues), func(v unknownValues) bool { return v.severity != severity || !slices.Contains(f.cluster.Units, v.unit) })
		if len(of) == 0 {
			continue
		}
		why := fmt.Sprintf("%s puts in values for %s that are not in this repository (%s)", of[0].unit.Name, strings.Join(of[0].names, ", "), strings.Join(of[0].missing, ", "))
		if len(of) > 1 {
			var missing []string
			for _, v := range of {
				missing = append(missing, v.missing...)
			}
			each := words.Of(of, func(v unknownValues) string { return v.unit.Name + ": " + strings.Join(v.names, ", ") })
			why = fmt.Sprintf("%s put in values that are not in this repository (%s): %s",
				words.Count(int64(len(of)), "Kustomization"), words.Few(words.Distinct(missing), mostKustomizations), words.FewClauses(each, mostKustomizations))
		}
		f.find(VariableUnknown, severity, of[0].unit.By, []string{"spec", "postBuild", "substituteFrom"}, why,
			"give the variables defaults, as in ${name:=value}, or keep them in a ConfigMap in Git")
	}
}
