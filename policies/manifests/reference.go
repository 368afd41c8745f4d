package manifests

import (
	"strings"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// GroupKind is a custom resource's API group and kind.
type GroupKind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
}

// Reference is one place in a file that names a version.
type Reference struct {
	// Place is the line of the version: of apiVersion, or of a target's version.
	finding.Place `json:",inline"`
	GroupKind     `json:",inline"`
	Version       string `json:"version"`
	// Namespace and Name are those of the object that is written there, or meant; empty if it does not say.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Role      Role   `json:"role"`
	// To is the storage version.
	To string `json:"to,omitempty"`
	// Why says why a person has to change it, in a sentence without a full stop; empty if Rewrite does it.
	Why string `json:"why,omitempty"`
}

// Object is the kind and the name for people, for example "Widget garden/rose".
func (r Reference) Object() string {
	return strings.TrimSuffix(r.Kind+" "+words.FullName(r.Namespace, r.Name), " ")
}

// Role is what the place is. The set is closed.
type Role string

const (
	// Object: a manifest, by itself or in a List; a patch in a file of its own looks the same.
	Object Role = "object"
	// Patch: a strategic merge patch inside of a kustomization, a Flux Kustomization or an Argo CD Application.
	Patch Role = "patch"
	// PatchTarget: what a patch or a replacement is for.
	PatchTarget Role = "target"
	// HealthCheck: what a Flux Kustomization waits for.
	HealthCheck Role = "health check"
	// Inside: somewhere inside of another object, as a reference or as a whole manifest.
	Inside Role = "inside"
	// Template: text that becomes YAML only later, or never was.
	Template Role = "template"
)
