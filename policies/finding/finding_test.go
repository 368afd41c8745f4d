package finding

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestAPlaceIsWrittenAsCompilersDo(t *testing.T) {
	for want, place := range map[string]Place{
		"":         {},
		"a.yaml":   {File: "a.yaml"},
		"a.yaml:3": {File: "a.yaml", Line: 3},
		"https://example.com/x.git//a.yaml?ref=v1": {File: "a.yaml", Repo: "https://example.com/x.git", Ref: "v1"},
		"stdin:3 (widgets/templates/a.yaml)":       {File: "stdin", Line: 3, Template: "widgets/templates/a.yaml"},
	} {
		NewWithT(t).Expect(place.String()).To(Equal(want))
	}
}
