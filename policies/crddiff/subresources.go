package crddiff

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/finding"
)

// subresources: those, columns and selectable fields of each version that stays.
func subresources(c *comparison) {
	for _, is := range distinct(c.head) {
		was := crds.Version(c.base, is.Name)
		if was == nil {
			continue
		}
		for _, change := range slices.Concat(statusSubresource(was, is), scaleSubresource(was, is), columns(was, is), selectable(was, is)) {
			change.Version = is.Name
			c.add(change)
		}
	}
}

func subresourcesOf(v *versionOf) apiextensionsv1.CustomResourceSubresources {
	if v.Subresources == nil {
		return apiextensionsv1.CustomResourceSubresources{}
	}
	return *v.Subresources
}

func statusSubresource(was, is *versionOf) []Change {
	had, has := subresourcesOf(was).Status != nil, subresourcesOf(is).Status != nil
	switch {
	case !had && has:
		return []Change{{
			Rule: StatusSubresourceAdded, Severity: finding.Warning,
			Why: "a status written together with the rest of an object is ignored from now on; controllers have to write it at /status",
		}}
	case had && !has:
		return []Change{{Rule: StatusSubresourceRemoved, Severity: finding.Error, Why: "controllers that write at /status fail, and a client that writes an object writes its status with it"}}
	default:
		return nil
	}
}

func scaleSubresource(was, is *versionOf) []Change {
	from, to := scale(was), scale(is)
	switch {
	case from == to:
		return nil
	case from == "":
		return []Change{{Rule: ScaleSubresourceAdded, Severity: finding.Info, To: to, Why: "kubectl scale and autoscalers work"}}
	case to == "":
		return []Change{{Rule: ScaleSubresourceRemoved, Severity: finding.Error, From: from, Why: "kubectl scale and autoscalers fail"}}
	default:
		return []Change{{Rule: ScaleSubresourceChanged, Severity: finding.Warning, From: from, To: to, Why: "kubectl scale and autoscalers read and write other fields"}}
	}
}

// scale says which fields /scale stands for, empty if there is none.
func scale(v *versionOf) string {
	s := subresourcesOf(v).Scale
	if s == nil {
		return ""
	}
	return fmt.Sprintf("spec %s, status %s, selector %s", s.SpecReplicasPath, s.StatusReplicasPath, or(text(s.LabelSelectorPath), "none"))
}

func columns(was, is *versionOf) []Change {
	from, to := columnNames(was), columnNames(is)
	if slices.Equal(was.AdditionalPrinterColumns, is.AdditionalPrinterColumns) {
		return nil
	}
	return []Change{{
		Rule: PrinterColumnsChanged, Severity: finding.Info, From: strings.Join(from, ", "), To: strings.Join(to, ", "),
		Why: "kubectl get shows something else; scripts that read its columns may notice",
	}}
}

func columnNames(v *versionOf) []string {
	var names []string
	for _, column := range v.AdditionalPrinterColumns {
		names = append(names, column.Name)
	}
	return names
}

func selectable(was, is *versionOf) []Change {
	var changes []Change
	from, to := selectors(was), selectors(is)
	if more := missing(to, from); len(more) > 0 {
		changes = append(changes, Change{Rule: SelectableFieldsAdded, Severity: finding.Info, To: strings.Join(more, ", "), Why: "field selectors may name it"})
	}
	if gone := missing(from, to); len(gone) > 0 {
		changes = append(changes, Change{Rule: SelectableFieldsRemoved, Severity: finding.Warning, From: strings.Join(gone, ", "), Why: "lists and watches with a field selector that names it fail"})
	}
	return changes
}

func selectors(v *versionOf) []string {
	var paths []string
	for _, f := range v.SelectableFields {
		paths = append(paths, f.JSONPath)
	}
	return paths
}
