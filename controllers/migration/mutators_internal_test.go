package migration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWhatIsTooLargeToBeComparedMayHaveLostAnything(t *testing.T) {
	g := NewWithT(t)
	large := `{"spec": [` + strings.Repeat(`{"a": {}},`, 50_000) + `{}]}`
	lost, unknown, err := taken([]byte(`[` + large + `,` + large + `]`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lost).To(BeEmpty())
	g.Expect(unknown).To(And(HavePrefix("it is not known what would be lost or changed at the write: "), Not(ContainSubstring("webhook"))))
	lost, unknown, err = taken([]byte(`[{"spec": {"a": 1}}, {"spec": {}}]`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lost).To(Equal([]string{"spec.a"}))
	g.Expect(unknown).To(BeEmpty())
	_, _, err = taken([]byte(`[{"spec": `))
	g.Expect(err).To(HaveOccurred())
}
