package fieldownership

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// An object of 200 KB may own fields that lie deep, and many of them: their paths take hundreds of megabytes.
func TestThePathsOfASetAreNotAllHeldAtOnce(t *testing.T) {
	g := NewWithT(t)
	const deep, fields = 1000, 5000
	names := make([]string, fields)
	for i := range names {
		names[i] = fmt.Sprintf(`"f:%d":{}`, i)
	}
	owned := fieldpath.NewSet()
	g.Expect(owned.FromJSON(strings.NewReader(strings.Repeat(`{"f:a":`, deep) + "{" + strings.Join(names, ",") + "}" + strings.Repeat("}", deep)))).To(Succeed())
	inUse := func() uint64 {
		runtime.GC()
		stats := runtime.MemStats{}
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before, n := inUse(), 0
	for path := range paths(owned) {
		g.Expect(path).To(HaveLen(deep + 1))
		if n++; n == fields {
			g.Expect(inUse()).To(BeNumerically("<", before+16<<20))
		}
	}
	g.Expect(n).To(Equal(fields))

	for range paths(owned) {
		n--
		break
	}
	g.Expect(n).To(Equal(fields - 1))
	meta, body := split(owned)
	g.Expect(meta.Empty()).To(BeTrue())
	g.Expect(body.Equals(owned)).To(BeTrue())
}
