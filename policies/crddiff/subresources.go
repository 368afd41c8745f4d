package crddiff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// subresources: those, columns and selectable fields of each version that stays.
func subresources(c *comparison) {
	for _, is := range distinct(c.head) {
		if was := crds.Version(c.base, is.Name); was != nil {
			c.statusSubresource(was, is)
			c.scaleSubresource(was, is)
			c.columns(was, is)
			c.tellSome(is.Name, SelectableFieldsAdded, SelectableFieldsRemoved, selectors(was), selectors(is),
				"field selectors may name it", "lists and watches with a field selector that names it fail")
		}
	}
}

func subresourcesOf(v *versionOf) apiextensionsv1.CustomResourceSubresources {
	return ptr.Deref(v.Subresources, apiextensionsv1.CustomResourceSubresources{})
}

func (c *comparison) statusSubresource(was, is *versionOf) {
	switch had, has := subresourcesOf(was).Status != nil, subresourcesOf(is).Status != nil; {
	case !had && has:
		c.tell(is.Name, StatusSubresourceAdded, finding.Warning, "", "",
			"a status written together with the rest of an object is ignored from now on; controllers have to write it at /status")
	case had && !has:
		c.tell(is.Name, StatusSubresourceRemoved, finding.Error, "", "",
			"controllers that write at /status fail, and a client that writes an object writes its status with it")
	}
}

func (c *comparison) scaleSubresource(was, is *versionOf) {
	switch from, to := scale(was), scale(is); {
	case from == to:
	case from == "":
		c.tell(is.Name, ScaleSubresourceAdded, finding.Info, from, to, "kubectl scale and autoscalers work")
	case to == "":
		c.tell(is.Name, ScaleSubresourceRemoved, finding.Error, from, to, "kubectl scale and autoscalers fail")
	default:
		c.tell(is.Name, ScaleSubresourceChanged, finding.Warning, from, to, "kubectl scale and autoscalers read and write other fields")
	}
}

// scale says which fields /scale stands for, empty if there is none.
func scale(v *versionOf) string {
	s := subresourcesOf(v).Scale
	if s == nil {
		return ""
	}
	return fmt.Sprintf("spec %s, status %s, selector %s", s.SpecReplicasPath, s.StatusReplicasPath, cmp.Or(ptr.Deref(s.LabelSelectorPath, ""), "none"))
}

func (c *comparison) columns(was, is *versionOf) {
	if !slices.Equal(was.AdditionalPrinterColumns, is.AdditionalPrinterColumns) {
		c.tell(is.Name, PrinterColumnsChanged, finding.Info, columnNames(was), columnNames(is),
			"kubectl get shows something else; scripts that read its columns may notice")
	}
}

func columnNames(v *versionOf) string {
	return strings.Join(words.Of(v.AdditionalPrinterColumns, func(c apiextensionsv1.CustomResourceColumnDefinition) string { return c.Name }), ", ")
}

func selectors(v *versionOf) []string {
	return words.Of(v.SelectableFields, func(f apiextensionsv1.SelectableField) string { return f.JSONPath })
}
