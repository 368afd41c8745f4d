package migration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWhatIsTooLargeToBeComparedMayHaveLostAnything(t *testing.T) {
	g := NewWithT(t)
	large := `{"spec": [` + strings.Repeat(`{"a": {}},`, 50_000) + `{}]}`
	g.Expect(taken([]byte(`[` + large + `,` + large + `]`))).To(ConsistOf(ContainSubstring("something in what is too large to be compared")))
	g.Expect(taken([]byte(`[{"spec": {"a": 1}}, {"spec": {}}]`))).To(Equal([]string{"spec.a"}))
	_, err := taken([]byte(`[{"spec": `))
	g.Expect(err).To(HaveOccurred())
}
