package progress

import (
	"bytes"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/inspect"
)

func TestLongListsAreReportedInTenths(t *testing.T) {
	g := NewWithT(t)
	var errOut bytes.Buffer
	read := NewObjects(&errOut)
	for done := int64(500); done <= 5000; done += 250 {
		read.Tell(inspect.Progress{CRD: "widgets.example.com", Done: done, Total: 5000})
	}
	read.Tell(inspect.Progress{CRD: "gadgets.example.com", Done: 3, Total: 3})
	read.Tell(inspect.Progress{CRD: "empty.example.com"})
	g.Expect(strings.Count(errOut.String(), "\n")).To(Equal(10))
	g.Expect(errOut.String()).To(And(HavePrefix("widgets.example.com  read 500 of 5000 objects\n"), HaveSuffix("widgets.example.com  read 5000 of 5000 objects\n")))
}
