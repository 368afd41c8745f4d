package doctor

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
)

// A check that is not documented is not looked for.
func TestEachCheckIsInTheHelpAndInTheDocuments(t *testing.T) {
	for _, file := range []string{"../../cmd/moult/doctor/command.go", "../../docs/doctor.md"} {
		content, err := os.ReadFile(file)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for _, c := range checks {
			NewWithT(t).Expect(string(content)).To(ContainSubstring(string(c.id)), file)
		}
	}
}
