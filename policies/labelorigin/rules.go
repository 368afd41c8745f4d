package labelorigin

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rule is one line of the specification.
type rule struct {
	name  string
	judge func(evidence) (Verdict, bool)
}

// rules are asked in this order, about a CRD that carries the label, and the first that holds decides. What proves that
// a tool has it in its manifest comes first, then what a person has set, by the tool that would meet it.
var rules = []rule{
	{"OwnedByATool", ownedByATool},
	{"InWhatArgoCDAppliedLast", inWhatArgoCDAppliedLast},
	{"OutlivedAReplace", outlivedAReplace},
	{"Unowned", unowned},
	{"TakenOverByFlux", takenOverByFlux},
	{"DroppedByArgoCD", droppedByArgoCD},
	{"SetByHand", setByHand},
	{"SetBySomebodyElse", setBySomebodyElse},
}

// ownedByATool: tools own what is in their manifests.
func ownedByATool(e evidence) (Verdict, bool) {
	for _, entry := range e.owners {
		name := toolNamed(entry.Manager)
		if name == NoTool {
			continue
		}
		v := Verdict{Origin: Git, Tool: name, Owner: ownerOf(entry)}
		if e.tool.name == name {
			v.Object = e.tool.object
		}
		return v, true
	}
	return Verdict{}, false
}

// inWhatArgoCDAppliedLast: a client-side apply leaves the owner of an unchanged field alone, so a label that a person
// had set before it came into Git is still that person's.
func inWhatArgoCDAppliedLast(e evidence) (Verdict, bool) {
	return e.verdict(Git, ""), e.applied && e.byArgoCD
}

// outlivedAReplace: a replaced object has the labels of the manifest and no others.
func outlivedAReplace(e evidence) (Verdict, bool) {
	later := !e.replaced.IsZero() && len(e.owners) > 0 &&
		!slices.ContainsFunc(e.owners, func(o metav1.ManagedFieldsEntry) bool { return !timeOf(o).Before(e.replaced) })
	return e.verdict(Git, ""), later
}

// unowned: managedFields have been emptied, or never held the label.
func unowned(e evidence) (Verdict, bool) {
	return e.verdict(Unknown, ""), len(e.owners) == 0
}

// takenOverByFlux: before each apply, Flux makes the fields of some managers its own, so that its apply drops those that
// are not in Git.
func takenOverByFlux(e evidence) (Verdict, bool) {
	if e.tool.name != Flux || e.fluxSkips != "" || !e.all(fluxTakesOver) {
		return Verdict{}, false
	}
	const unless = "Git makes it leave the CRD alone (" + fluxApply + ": Ignore)"
	v := e.verdict(LiveOnly, fmt.Sprintf("Flux undoes what kubectl has set and Git lacks, so the next reconcile of %s takes it off, unless %s", e.tool.by(), unless))
	v.Lost, v.Unless = true, unless
	return v, true
}

// fluxTakesOver is the list in kustomize-controller (v1.9.5, internal/controller/kustomization_controller.go, apply).
func fluxTakesOver(entry metav1.ManagedFieldsEntry) bool {
	update := entry.Operation == metav1.ManagedFieldsOperationUpdate
	return entry.Subresource == "" && (strings.HasPrefix(entry.Manager, "kubectl") || update && entry.Manager == "before-first-apply")
}

// droppedByArgoCD: each way to apply has its own way to lose what is not in Git.
func droppedByArgoCD(e evidence) (Verdict, bool) {
	if e.tool.name != ArgoCD {
		return Verdict{}, false
	}
	var why string
	switch {
	case e.mode == replacing:
		why = "since it replaces the CRD (Replace=true) and so drops every label that Git does not have"
	case e.mode == clientSide && e.applied:
		why = "since `kubectl apply` has sent the label, and a client-side apply drops what the last one has sent and Git does not have"
	case e.mode == serverSide && e.all(isClientSideApply):
		why = "since a server-side apply of Argo CD takes over what `kubectl apply` has set and drops what Git does not have"
	default:
		return Verdict{}, false
	}
	v := e.verdict(LiveOnly, fmt.Sprintf("the next sync of %s takes it off, %s", e.tool.by(), why))
	v.Lost = true
	return v, true
}

func isClientSideApply(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == "kubectl-client-side-apply" && entry.Operation == metav1.ManagedFieldsOperationUpdate
}

// setByHand: nothing is known to take it off, and nothing would put it back.
func setByHand(e evidence) (Verdict, bool) {
	if !e.all(byHand) || e.tool.name == NoTool && slices.ContainsFunc(e.owners, fromAFile) {
		return Verdict{}, false
	}
	var why, unless string
	switch e.tool.name {
	case NoTool:
		why = "no tool has left a trace on the CRD, so a rebuilt cluster would not have it"
	case Flux:
		why = "Flux leaves it alone"
		if e.fluxSkips != "" {
			why += " because of " + e.fluxSkips
		}
		why += ", but a rebuilt cluster would not have it"
	case ArgoCD:
		unless = "it has to replace (" + optionReplace + ")"
		why = "Argo CD leaves it alone unless " + unless + ", but a rebuilt cluster would not have it"
	case HelmController, Helm:
		unless = "it is forced"
		why = "an upgrade leaves it alone unless " + unless + ", but a release that is installed anew would not have it"
	}
	v := e.verdict(LiveOnly, why)
	v.Unless = unless
	return v, true
}

// setBySomebodyElse: an operator, a script, or somebody who applies with kubectl and may do so from Git.
func setBySomebodyElse(e evidence) (Verdict, bool) {
	return e.verdict(Unknown, ""), true
}

func (e evidence) verdict(origin Origin, why string) Verdict {
	v := Verdict{Origin: origin, Tool: e.tool.name, Object: e.tool.object, Owner: "an unknown field manager", Why: why}
	if len(e.owners) > 0 {
		v.Owner = ownerOf(e.owners[0])
	}
	return v
}

// all reports whether every owner of the label is such a one: a label stays for as long as one of its owners wants it.
func (e evidence) all(is func(metav1.ManagedFieldsEntry) bool) bool {
	return !slices.ContainsFunc(e.owners, func(entry metav1.ManagedFieldsEntry) bool { return !is(entry) })
}
