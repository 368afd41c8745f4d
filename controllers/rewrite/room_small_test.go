package rewrite_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/controllers/rewrite"
)

// Walks over any number of CRDs are under way at a time, since each gives up its slot between two pages.
func TestTheSchemasOfManySmallCRDsTakeNoMoreThanTheirRoom(t *testing.T) {
	g := NewWithT(t)
	room := rewrite.NewRoom()
	const small, large = 100 << 10, 1 << 20
	granted, given := make(chan func(), 100), 0
	for range cap(granted) {
		go func() {
			if leave, err := room.ForSchemas(t.Context(), small); err == nil {
				granted <- leave
			}
		}()
	}
	g.Eventually(granted).Should(HaveLen(8), "each takes 7.3 of 64 MiB")
	_, err := room.ForSchemas(t.Context(), large)
	g.Expect(err).NotTo(HaveOccurred(), "a large one has a room of its own")
	g.Expect(granted).To(HaveLen(8))
	for range cap(granted) { // each that ends lets another one begin
		var leave func()
		g.Eventually(granted).Should(Receive(&leave))
		leave()
		given++
	}
	g.Expect(given).To(Equal(100))
}
