package releasenotes

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// Notes are what is to be said about a release. It is what -o json prints.
type Notes struct {
	// APIVersion and Kind name the format: notes.moult.dev/v1alpha1, ReleaseNotes.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Base and Head are what was compared, as the caller called them.
	Base string `json:"base"`
	Head string `json:"head"`
	// CRDs are those that differ, by name.
	CRDs []Note `json:"crds"`
	// DryRun are commands that write nothing and tell whether the release would go through.
	DryRun []Command `json:"dryRun,omitempty"`
}

// Note is what is to be said about one CustomResourceDefinition.
type Note struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// State is "added", "removed" or "changed".
	State string `json:"state"`
	// General is what is not about a single version.
	General []Entry `json:"general,omitempty"`
	// Versions are those with something to say: those that stay, the newest first, and then those that go.
	Versions []Version `json:"versions,omitempty"`
	// Order are sentences about the order of the upgrade; empty if it does not matter.
	Order []string `json:"order,omitempty"`
	// Migration are the steps by which stored objects come to the storage version; empty if they are there.
	Migration []Step `json:"migration,omitempty"`
}

// Version is what is to be said about one version of a CRD.
type Version struct {
	Name string `json:"name"`
	// Standing says what the version is for, or that it is new or gone.
	Standing string `json:"standing"`
	// Against is the version that a new one is compared with.
	Against    string  `json:"against,omitempty"`
	Added      []Entry `json:"added,omitempty"`
	Changed    []Entry `json:"changed,omitempty"`
	Deprecated []Entry `json:"deprecated,omitempty"`
	Removed    []Entry `json:"removed,omitempty"`
}

// Entry is one line.
type Entry struct {
	Rule crddiff.Rule `json:"rule"`
	// Field is empty if it is not about one.
	Field string `json:"field,omitempty"`
	// Text says what has changed, without the field and without a full stop, in Markdown.
	Text string `json:"text"`
	// Breaking reports that somebody has to do something: manifests, objects or clients fail, or lose something.
	Breaking bool `json:"breaking,omitempty"`
	// Why says what breaks; empty if nothing does.
	Why string `json:"why,omitempty"`
}

// Command is something to type.
type Command struct {
	Line string `json:"line"`
	// Shows is what one learns from it, in a sentence without a full stop.
	Shows string `json:"shows"`
}

// Step is one step of a migration.
type Step struct {
	// Text is a sentence in Markdown.
	Text string `json:"text"`
	// Code is what goes with it, a command or a manifest, empty if nothing does.
	Code     string `json:"code,omitempty"`
	Language string `json:"language,omitempty"`
}

// Make says what differs. Base and head are how the caller calls what was compared, and labelKey is the opt-in label.
func Make(base, head string, crds []crddiff.Diff, labelKey string) Notes {
	n := Notes{APIVersion: "notes.moult.dev/v1alpha1", Kind: "ReleaseNotes", Base: base, Head: head, CRDs: []Note{}}
	for _, crd := range crds {
		n.CRDs = append(n.CRDs, about(crd, base, head, labelKey))
	}
	n.DryRun = dryRun(crds)
	return n
}

func about(crd crddiff.Diff, base, head, labelKey string) Note {
	note := Note{Name: crd.Name, Kind: crd.Kind, State: "changed", Order: order(crd), Migration: migration(crd, base, head, labelKey)}
	switch {
	case crd.Base == nil:
		note.State = "added"
	case crd.Head == nil:
		note.State = "removed"
	}
	versions := map[string]*Version{}
	for _, c := range crd.Changes {
		if c.Rule == crddiff.DescriptionsChanged {
			continue
		}
		entry := entryOf(c)
		if c.Version == "" {
			note.General = append(note.General, entry)
			continue
		}
		at := c.Version
		if c.Rule == crddiff.FieldLost || !crd.Head.Has(c.Version) && c.Against != "" {
			entry.Text += fmt.Sprintf(", compared with `%s`", c.Against)
		}
		v, ok := versions[at]
		if !ok {
			v = &Version{Name: at, Standing: standing(crd, at)}
			versions[at] = v
		}
		if c.Against != "" && !crd.Base.Has(at) {
			v.Against = c.Against
		}
		v.put(c.Rule, entry)
	}
	for _, name := range names(crd) {
		if v := versions[name]; v != nil {
			note.Versions = append(note.Versions, *v)
		}
	}
	return note
}

// put files an entry under what happened. What is said by the standing is not said again.
func (v *Version) put(rule crddiff.Rule, e Entry) {
	switch rule { //nolint:exhaustive // whatever else there is has changed something
	case crddiff.VersionAdded, crddiff.VersionRemoved:
	case crddiff.FieldAdded, crddiff.ScaleSubresourceAdded, crddiff.StatusSubresourceAdded, crddiff.SelectableFieldsAdded:
		v.Added = append(v.Added, e)
	case crddiff.FieldDeprecated, crddiff.VersionDeprecated:
		v.Deprecated = append(v.Deprecated, e)
	case crddiff.FieldRemoved, crddiff.FieldLost, crddiff.ScaleSubresourceRemoved, crddiff.StatusSubresourceRemoved, crddiff.SelectableFieldsRemoved:
		v.Removed = append(v.Removed, e)
	default:
		v.Changed = append(v.Changed, e)
	}
}

func entryOf(c crddiff.Change) Entry {
	// Whether a CRD that has left the release is deleted, a preview asks the roll-out; its users lose it all the same.
	e := Entry{Rule: c.Rule, Field: c.Field, Text: say(c), Breaking: c.Severity == finding.Error || c.Rule == crddiff.CRDRemoved}
	if c.Severity != finding.Info {
		e.Why = c.Why
	}
	return e
}

// standing says what a version is for from now on.
func standing(crd crddiff.Diff, name string) string {
	is, stays := crd.Head.Version(name)
	if !stays {
		return "gone"
	}
	var says []string
	if !crd.Base.Has(name) {
		says = append(says, "new")
	}
	if is.Storage {
		says = append(says, "storage version")
	}
	if !is.Served {
		says = append(says, "not served")
	}
	if is.Deprecated {
		says = append(says, "deprecated")
	}
	return strings.Join(says, ", ")
}

// names are those of all versions: those that stay, the newest first, and then those that go.
func names(crd crddiff.Diff) []string {
	var stay []string
	if crd.Head != nil {
		stay = words.Of(crd.Head.Versions, func(v crddiff.Version) string { return v.Name })
	}
	gone := slices.Clone(crd.Removed)
	newest := func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) }
	slices.SortStableFunc(stay, newest)
	slices.SortStableFunc(gone, newest)
	return append(stay, gone...)
}
