package labelorigin

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crds "github.com/moult-dev/moult/api/crd"
)

// Operator is the field manager that applies a CRD from a program, as operators do that bring their CRDs in their image. It has
// written spec.versions last, it is no person at a keyboard, and no tool that delivers from Git has left a trace. It is empty if
// there is none.
func Operator(crd metav1.Object) (manager string) {
	if toolOf(crd).name != NoTool {
		return ""
	}
	var latest time.Time
	for _, entry := range crd.GetManagedFields() {
		if entry.Subresource != "" || !crds.OwnsField(entry, "spec", "versions") || manager != "" && !timeOf(entry).After(latest) {
			continue
		}
		if manager, latest = ownerOf(entry), timeOf(entry); byHand(entry) || fromAFile(entry) {
			manager = ""
		}
	}
	return manager
}

// NotInGit is what it means that an operator applies a CRD, in a sentence without a full stop.
func NotInGit(operator string) string {
	return fmt.Sprintf("%s applies it, and Argo CD, Flux and Helm have left no trace, so no manifest in Git holds it: a VersionRemoval cannot hold back a commit with the CRD", operator)
}

// HoldTheOperator is what to do then.
const HoldTheOperator = "hold back the operator's Deployment instead: the VersionRemoval in an earlier wave than the image that drops the version (examples/operator)"
