package desired_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A folder of one cluster's becomes another cluster's.
func TestACRDThatMovesToAnotherFolderOfASetIsNotTheSame(t *testing.T) {
	g := NewWithT(t)
	in := func(folder string) string {
		unseen := followed(t, files{
			"entry/a.yaml":               object("argoproj.io/v1alpha1", "ApplicationSet", "a", "generators: [{clusters: {}}], template: {metadata: {name: a}, spec: {source: {path: 'at/{{name}}'}}}"),
			"at/other/x.yaml":            configMap("x"),
			"at/" + folder + "/crd.yaml": crd("x"),
		}).Unseen
		g.Expect(unseen).To(HaveLen(1))
		return unseen[0].Fingerprint
	}
	g.Expect(in("prod")).NotTo(Equal(in("production")))
	g.Expect(in("prod")).To(Equal(in("prod")))
}
