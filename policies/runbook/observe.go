package runbook

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/version"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/words"
)

// Observation is what is known of one CRD.
type Observation struct {
	CRD *apiextensionsv1.CustomResourceDefinition
	// LabelKey is the opt-in label.
	LabelKey string
	// To is the version that is to be stored. Default: the newest that is served.
	To string
	// Leaving are the versions that are to be removed. Default: those that VersionRemovals name, else all but To.
	Leaving []string
	// Removals are the VersionRemovals of the CRD; NoRemovals says why they could not be read.
	Removals   []v1alpha1.VersionRemoval
	NoRemovals string
	// Now is for the times in annotations.
	Now time.Time
	// Program is how Moult is called. Flags are those of its own that all commands get, and ClusterFlags those that say which cluster.
	Program             string
	Flags, ClusterFlags []string
	// Folder is where the CRD is in Git.
	Folder string
	// Return is the way back to To; nil for the way forth.
	Return *Return
	// Rehearsed is what becomes of the objects by the flip; nil if they were not looked at. Rehearsals fills it in.
	Rehearsed *conversion.Report
}

// errNothingLeaves: there is no plan for a CRD with one version.
var errNothingLeaves = errors.New("no version is to be removed")

// complete fills in what was not said.
func (o Observation) complete() (Observation, error) {
	versions := crds.Versions(o.CRD)
	if o.To == "" {
		o.To = newest(o.CRD)
	}
	if o.Return != nil {
		if err := o.goesBack(); err != nil {
			return o, err
		}
	}
	if len(o.Leaving) == 0 {
		o.Leaving = o.left()
	}
	o.Leaving = words.Distinct(o.Leaving)
	strange := o.leavingThat(func(v string) bool {
		return !slices.Contains(versions, v) && !slices.Contains(o.CRD.Status.StoredVersions, v) && slices.Contains(o.unasked(), v)
	})
	switch {
	case len(strange) > 0:
		return o, fmt.Errorf("%s has no version %s, and no VersionRemoval names it; it has %s", o.CRD.Name, strings.Join(strange, ", "), strings.Join(versions, ", "))
	case o.To == "":
		return o, fmt.Errorf("%s serves no version", o.CRD.Name)
	case slices.Contains(o.Leaving, o.To):
		return o, fmt.Errorf("%s is to be stored and is to be removed; name another with --to or --version", o.To)
	case len(o.Leaving) == 0 && o.Return == nil:
		return o, fmt.Errorf("%s has no version but %s: %w", o.CRD.Name, o.To, errNothingLeaves)
	}
	return o, nil
}

// left are the versions that leave if none are named.
func (o Observation) left() (leaving []string) {
	if o.Return != nil {
		return o.newer()
	}
	for i := range o.Removals {
		leaving = append(leaving, o.Removals[i].Spec.Versions...)
	}
	if len(leaving) == 0 {
		leaving = slices.DeleteFunc(crds.Versions(o.CRD), func(v string) bool { return v == o.To })
	}
	return leaving
}

// newest is the served version that kubectl would take.
func newest(crd *apiextensionsv1.CustomResourceDefinition) (name string) {
	for _, v := range crd.Spec.Versions {
		if v.Served && (name == "" || version.CompareKubeAwareVersionStrings(v.Name, name) > 0) {
			name = v.Name
		}
	}
	return name
}

// served reports whether a version is.
func (o Observation) served(name string) bool {
	v := crds.Version(o.CRD, name)
	return v != nil && v.Served
}

// leavingThat are those of the versions that leave that something holds of.
func (o Observation) leavingThat(holds func(string) bool) (names []string) {
	for _, name := range o.Leaving {
		if holds(name) {
			names = append(names, name)
		}
	}
	return names
}

// removals are the VersionRemovals that name some of the versions that leave.
func (o Observation) removals() (all []*v1alpha1.VersionRemoval) {
	for i := range o.Removals {
		if r := &o.Removals[i]; len(o.leavingThat(func(v string) bool { return slices.Contains(r.Spec.Versions, v) })) > 0 {
			all = append(all, r)
		}
	}
	return all
}

// unasked are the versions that no VersionRemoval names.
func (o Observation) unasked() []string {
	return o.leavingThat(func(v string) bool {
		return !slices.ContainsFunc(o.removals(), func(r *v1alpha1.VersionRemoval) bool { return slices.Contains(r.Spec.Versions, v) })
	})
}

func called(r *v1alpha1.VersionRemoval) string { return "VersionRemoval " + r.Namespace + "/" + r.Name }

// said is what a VersionRemoval says of itself as it is now: its state, its reason and its message.
func said(r *v1alpha1.VersionRemoval) (state State, reason, message string) {
	ready := meta.FindStatusCondition(r.Status.Conditions, "Ready")
	switch {
	case ready == nil || r.Status.ObservedGeneration != r.Generation:
		return Waiting, "", "Moult has not answered it yet; is moult-controller running?"
	case ready.Status == "True":
		return Done, ready.Reason, ready.Message
	case meta.IsStatusConditionTrue(r.Status.Conditions, "Stalled"):
		return Held, ready.Reason, ready.Message
	}
	return Waiting, ready.Reason, ready.Message
}

// moult is a command of ours, for a shell, about the cluster.
func (o Observation) moult(args ...string) string {
	return o.local(slices.Concat(args, o.ClusterFlags)...)
}

// local is one about files.
func (o Observation) local(args ...string) string {
	return o.Program + " " + strings.Join(words.Of(slices.Concat(args, o.Flags), words.Shell), " ")
}
