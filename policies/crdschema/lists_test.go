package crdschema_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/test/builders"
)

// The API server does not prune the items of a list that keeps unknown fields, nor the items of their lists.
func TestAListThatKeepsUnknownFieldsKeepsThoseOfItsItems(t *testing.T) {
	const spec = "type: object\nproperties: {spec: {type: object, properties: {parts: {type: array, "
	const named, listed = "items: {type: object, properties: {name: {type: string}}}", "items: {type: array, items: {type: object, properties: {name: {type: string}}}}"
	const keeps, end = ", x-kubernetes-preserve-unknown-fields: true", "}}}}\n"
	for name, c := range map[string]struct {
		old, storage string
		want         []string
	}{
		"both keep them":                  {named + keeps, named + keeps, nil},
		"only the storage version":        {named, named + keeps, nil},
		"only the old version":            {named + keeps, named, []string{"spec.parts.*", "spec.parts[*].*"}},
		"only the old version, two lists": {listed + keeps, listed, []string{"spec.parts.*", "spec.parts[*].*", "spec.parts[*][*].*"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			crd := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").Schema("v1alpha1", spec+c.old+end).Schema("v1", spec+c.storage+end).Build()
			finder, err := crdschema.Of(crd)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(finder.Lacking("v1alpha1")).To(Equal(c.want))
		})
	}
}
