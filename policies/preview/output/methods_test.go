package output

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/templates"
)

func TestAReleaseKeepsTheMethodsThatThePageCanCall(t *testing.T) {
	NewWithT(t).Expect(templates.Missing(page{}, pageFunctions)).To(BeEmpty())
}
