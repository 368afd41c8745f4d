package docs_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/docs"
)

// screen is how many lines of a document somebody sees at once.
const screen = 45

func TestAnInstallationBeginsWithOneCommandAndTakesTwoScreens(t *testing.T) {
	g := NewWithT(t)
	before, section, err := docs.ToTheFirstCRD("../..")
	g.Expect(err).NotTo(HaveOccurred())
	ways := docs.Blocks(before)[0]
	g.Expect(strings.Split(strings.TrimSpace(ways.Text), "\n")).To(HaveExactElements(
		HavePrefix("kubectl apply --server-side -f "), HavePrefix("helm install "), HavePrefix("kubectl apply -k ")), "three ways of one command each")
	g.Expect(ways.Line).To(BeNumerically("<=", 5), "it begins with them")
	g.Expect(strings.Count(before, "\n")+strings.Count(section, "\n")).To(BeNumerically("<=", 2*screen), "two screens to a migrated CRD")
}
