package crddiff

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// A decoder says what DecodeStrictly does, whatever it has read before, and keeps one copy of what is the same.
func TestADecoderReadsASpecOnce(t *testing.T) {
	for name, manifest := range map[string]string{
		"sane":                       sane,
		"another name and label":     strings.Replace(sane, "{name: widgets.example.com}", "{name: widgets.example.com, labels: {a: b}}", 1),
		"another spec":               strings.Replace(sane, "size", "length", 1),
		"fields that are not there":  strings.Replace(sane, "  group:", "  grup: x\n  group:", 1) + "status: {condition: []}\n",
		"a field of metadata":        strings.Replace(sane, "{name: widgets.example.com}", "{name: widgets.example.com, namex: a}", 1),
		"an older API":               strings.Replace(sane, "k8s.io/v1", "k8s.io/v1beta1", 1),
		"no name":                    strings.Replace(sane, "{name: widgets.example.com}", "{}", 1),
		"metadata of a wrong type":   strings.Replace(sane, "{name: widgets.example.com}", "{name: widgets.example.com, labels: 1}", 1),
		"no group":                   strings.Replace(sane, "  group: example.com\n", "", 1),
		"no spec":                    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n",
		"a spec that is of all ways": strings.Replace(sane, "storage: false", "storage: 3", 1),
	} {
		t.Run(name, func(t *testing.T) {
			g, d := NewWithT(t), &Decoder{}
			first, _, err := d.Strictly(objects(t, []byte(sane))[0])
			g.Expect(err).NotTo(HaveOccurred())
			for range 2 { // it is known the second time
				object := objects(t, []byte(manifest))[0]
				crd, undeclared, err := d.Strictly(object)
				want, lacks, fails := DecodeStrictly(object)
				if fails != nil {
					g.Expect(err).To(MatchError(fails.Error()))
					continue
				}
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(crd).To(Equal(want))
				g.Expect(undeclared).To(Equal(lacks))
				shared := &crd.Spec.Versions[0] == &first.Spec.Versions[0]
				g.Expect(shared).To(Equal(strings.Contains(manifest, from("spec:"))), "the specs are one")
			}
			var none *Decoder
			crd, _, err := none.Strictly(objects(t, []byte(sane))[0])
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(crd).To(Equal(first))
		})
	}
}
