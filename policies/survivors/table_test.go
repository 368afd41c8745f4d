package survivors

import (
	"flag"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var update = flag.Bool("update", false, "write the table in docs/places.md anew")

const (
	page  = "../../docs/places.md"
	begin = "<!-- policies/survivors writes from here: go test ./policies/survivors -run Table -update -->\n"
	end   = "<!-- to here -->\n"
)

func TestTheTableIsInTheDocuments(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile(page)
	g.Expect(err).NotTo(HaveOccurred())
	before, rest, found := strings.Cut(string(content), begin)
	written, after, closed := strings.Cut(rest, end)
	g.Expect(found && closed).To(BeTrue(), "docs/places.md has the two lines between which the table is")
	want := "\n" + Table(Embedded()) + "\n"
	if *update {
		g.Expect(os.WriteFile(page, []byte(before+begin+want+end+after), 0o600)).To(Succeed())
		return
	}
	g.Expect(written).To(Equal(want), "run the test with -update, and read what it wrote")
}
