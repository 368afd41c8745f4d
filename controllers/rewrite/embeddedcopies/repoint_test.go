package embeddedcopies

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func TestWhoAppliesAnAtomicValueAppliesWhatIsInIt(t *testing.T) {
	at := fieldpath.MakePathOrDie("spec", "ref", "name")
	for entry, want := range map[string]bool{
		`{"f:spec":{"f:ref":{"f:name":{}}}}`:         true,
		`{"f:spec":{"f:ref":{}}}`:                    true, // atomic: the API server records no owner of what is in it
		`{"f:spec":{"f:ref":{".":{},"f:kind":{}}}}`:  false,
		`{"f:spec":{"f:other":{}}}`:                  false,
		`{"f:metadata":{"f:labels":{"f:name":{}}}}`:  false,
		`{"f:spec":{".":{},"f:ref":{"f:other":{}}}}`: false,
	} {
		t.Run(entry, func(t *testing.T) {
			g := NewWithT(t)
			fields := fieldpath.NewSet()
			g.Expect(fields.FromJSON(strings.NewReader(entry))).To(Succeed())
			g.Expect(applies(fields, at)).To(Equal(want))
		})
	}
}
