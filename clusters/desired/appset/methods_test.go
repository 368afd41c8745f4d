package appset

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/templates"
)

func TestAReleaseKeepsTheMethodsThatTemplatesCanCall(t *testing.T) {
	NewWithT(t).Expect(templates.Missing(functions, parameters{})).To(BeEmpty())
}
