package labelorigin

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crds "github.com/moult-dev/moult/api/crd"
)

// Origin is where the label comes from. The set is closed.
type Origin string

const (
	// None: the CRD does not carry the label, or with another value than "true".
	None Origin = "None"
	// Git: a delivery tool has set it, so it is in what the tool applies.
	Git Origin = "Git"
	// LiveOnly: somebody has set it on the live object, past the tool.
	LiveOnly Origin = "LiveOnly"
	// Unknown: the CRD does not tell.
	Unknown Origin = "Unknown"
)

// Tool delivers manifests to a cluster.
type Tool string

// The tools that leave a trace on a CRD.
const (
	NoTool         Tool = ""
	Flux           Tool = "Flux"
	ArgoCD         Tool = "Argo CD"
	HelmController Tool = "Flux's helm-controller"
	Helm           Tool = "Helm"
)

// Verdict is the answer. It is comparable: two that are equal say the same.
type Verdict struct {
	Origin Origin
	// Tool applies the CRD, as far as the CRD shows; NoTool if no trace of one is there.
	Tool Tool
	// Object is the tool's own object, for example "Kustomization flux-system/crds"; empty if the CRD does not name it.
	Object string
	// Owner set the label, in words, for example `field manager "kubectl-label" (Update)`.
	Owner string
	// Lost: the next sync of Tool takes the label off, unless Unless.
	Lost bool
	// Why says what becomes of a label that is LiveOnly, and because of what; a clause without a full stop.
	Why string
	// Unless is the condition in Why under which it comes otherwise, since a setting makes the tool apply the CRD in
	// another way. That is in Git or with the tool, and not on the CRD. Empty if there is none.
	Unless string
}

// Of reads a CRD's metadata. The metadata may have been cut down with Keep.
func Of(crd metav1.Object, labelKey string) Verdict {
	e := gather(crd, labelKey)
	if !crds.OptedIn(crd, labelKey) {
		return Verdict{Origin: None, Tool: e.tool.name, Object: e.tool.object}
	}
	for _, r := range rules {
		if v, ok := r.judge(e); ok {
			return v
		}
	}
	panic("labelorigin: the last rule must always hold")
}

// String is the verdict in a sentence without a full stop.
func (v Verdict) String() string {
	switch v.Origin {
	case None:
		return "the label is not there"
	case Git:
		if v.Object != "" {
			return fmt.Sprintf("in what %s applies: %s", v.Tool, v.Object)
		}
		return fmt.Sprintf("in what %s applies", v.Tool)
	case LiveOnly:
		return fmt.Sprintf("only on the live object: %s set it, and %s", v.Owner, v.Why)
	case Unknown:
		return fmt.Sprintf("%s set it; the CRD does not show whether that is in Git", v.Owner)
	}
	return string(v.Origin)
}

// by names the tool and its object, if that is known.
func (t trace) by() string {
	if t.object == "" {
		return string(t.name)
	}
	return t.object
}
