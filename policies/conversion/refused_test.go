package conversion

import (
	"testing"

	. "github.com/onsi/gomega"
)

// What breaks the storage version's schema is let pass if the object was like that before it was converted; what is newly
// wrong is refused. test/conformance shows the same objects to an API server.
func TestWhatTheAPIServerHasAgainstAnObject(t *testing.T) {
	const stricter, embedding, frozen = "v1 knows less and is stricter", "v1 embeds resources, reads both kinds of numbers and has a default for null", "defaults are nested and v1 lets nothing change"
	all := pairs(t)
	for name, c := range map[string]struct {
		pair, object string
		want         Outcome
	}{
		"nothing, and a default is not stored":             {stricter, `spec: {a: x}`, Outcome{Undefaulted: []string{"spec.num"}}},
		"a text that is too long":                          {stricter, `spec: {a: long, num: 4}`, Outcome{Lost: []string{"spec.num"}, Ratcheted: []string{"spec.a: Too long: may not be more than 3 bytes"}}},
		"a field that has to be there":                     {stricter, `spec: {l: [{k: a, v: 0.5}, {k: b}], num: 3}`, Outcome{Lost: []string{"spec.l[0].v"}, Undefaulted: []string{"spec.num"}, Ratcheted: []string{"spec.a: Required value"}}},
		"two items with the same key":                      {stricter, `spec: {a: x, l: [{k: a}, {k: a}]}`, Outcome{Undefaulted: []string{"spec.num"}, Ratcheted: []string{"spec.l[1]: Duplicate value"}}},
		"an item without its key":                          {stricter, `spec: {a: x, l: [{v: 1}]}`, Outcome{Lost: []string{"spec.l[0].v"}, Undefaulted: []string{"spec.num"}, Refused: []string{"spec.l[0].k: Required value"}}},
		"nothing in it":                                    {stricter, `{}`, Outcome{}},
		"an embedded object without its version":           {embedding, `e: {kind: Pod}`, Outcome{Added: []string{"z"}, Refused: []string{"e.apiVersion: Required value"}}},
		"a default where there was null":                   {embedding, `z: null`, Outcome{Changed: []string{"z"}}},
		"a rule that compares with what a default changes": {frozen, `spec: {a: {b: 1}}`, Outcome{Refused: []string{"spec: Invalid value: failed rule: self == oldSelf"}}},
		"a number that is too large beside it": {frozen, `spec: {a: {b: 4}}`, Outcome{Refused: []string{"spec: Invalid value: failed rule: self == oldSelf"},
			Ratcheted: []string{"spec.a.b: Invalid value: spec.a.b in body should be less than or equal to 2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object := objectOf(g, c.object)
			object["apiVersion"] = "example.com/v1alpha1"
			c.want.From = "v1alpha1"
			g.Expect(engineOf(all[c.pair].V1alpha1, all[c.pair].V1).Rehearse(t.Context(), object)).To(Equal(c.want))
		})
	}
}
