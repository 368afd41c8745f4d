package rewrite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// heavy is a shelf whose objects have annotations of a given size, seen through a
// client that gives up pages that are too large.
type heavy struct {
	*shelf
	size   func(i int) int
	limits []int64
	bytes  []int // of the pages that came
}

func (h *heavy) List(ctx context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	list, err := h.shelf.List(ctx, opts)
	h.limits = append(h.limits, opts.Limit)
	for i := range list.Items {
		at := 0
		_, _ = fmt.Sscanf(list.Items[i].Name, "o%d", &at)
		list.Items[i].Annotations = map[string]string{"big": strings.Repeat("x", h.size(at))}
	}
	if opts.Limit > 1 && list.Size() > maxPageBytes {
		return nil, ErrPageTooLarge
	}
	h.bytes = append(h.bytes, list.Size())
	return list, err
}

func TestAPageIsAsLongAsItsObjectsAllow(t *testing.T) {
	const kib = 1 << 10
	all := func(size int) func(int) int { return func(int) int { return size } }
	for name, c := range map[string]struct {
		n      int
		size   func(int) int
		limits []int64 // the first ones
		lists  int     // at most
	}{
		"small ones, nearly all at the full size": {3000, all(2 * kib), []int64{50, 500, 500}, 7},
		"large ones":                     {600, all(250 * kib), []int64{50, 12, 3, 4, 4}, 153},
		"the largest there can be":       {60, all(1500 * kib), []int64{50, 12, 3, 1, 1}, 63},
		"large ones behind small ones":   {650, func(i int) int { return map[bool]int{true: kib, false: 250 * kib}[i < 50] }, []int64{50, 500, 125, 31, 7, 4}, 156},
		"small ones behind large ones":   {3000, func(i int) int { return map[bool]int{true: kib, false: 250 * kib}[i > 100] }, []int64{50, 12, 3, 4}, 40},
		"one that is larger than a page": {20, func(i int) int { return map[bool]int{true: 8 << 20, false: kib}[i == 10] }, []int64{50, 12, 3}, 16},
		"hardly any":                     {3, all(kib), []int64{50}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := &heavy{shelf: newShelf(c.n), size: c.size}
			_, result, err := walkOver(h.shelf, func(w *Walk) { w.Objects, w.PageSize, w.Workers = h, 0, 32 })
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: int64(c.n)}))
			g.Expect(h.limits[:min(len(h.limits), len(c.limits))]).To(Equal(c.limits))
			g.Expect(len(h.limits)).To(BeNumerically("<=", c.lists), "%v", h.limits)
			if name != "one that is larger than a page" {
				g.Expect(slices.Max(h.bytes)).To(BeNumerically("<=", maxPageBytes))
			}
		})
	}
}

func TestAWalkKeepsNothingOfAnObjectThatItDoesNotNeed(t *testing.T) {
	g := NewWithT(t)
	page := metav1.PartialObjectMetadataList{Items: []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "a", ResourceVersion: "7", Finalizers: []string{strings.Repeat("f", 1000)},
		Annotations:     map[string]string{"big": strings.Repeat("x", 1<<18)},
		OwnerReferences: []metav1.OwnerReference{{Name: strings.Repeat("o", 1000)}},
		ManagedFields:   []metav1.ManagedFieldsEntry{entry("tool", apply, "example.com/v1", ownsSize)},
	}}}}
	strip(page.Items)
	g.Expect(page.Size()).To(BeNumerically("<", 250))
	g.Expect(page.Items[0].ManagedFields).To(HaveLen(1), "a write may lose them, and then nobody else knows them")
}

func TestAPageThatIsTooLargeIsNotReadToItsEnd(t *testing.T) {
	g := NewWithT(t)
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for i := range 25 {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint(i), Annotations: map[string]string{"big": strings.Repeat("x", 250<<10)}}})
	}
	raw, err := json.Marshal(list)
	g.Expect(err).NotTo(HaveOccurred())
	body := bytes.NewReader(raw)
	_, err = readPage(body, 40)
	g.Expect(err).To(MatchError(ErrPageTooLarge))
	g.Expect(len(raw)-body.Len()).To(BeNumerically("<=", maxPageBytes+1), "bytes read")

	page, err := readPage(bytes.NewReader(raw), 1)
	g.Expect(err).NotTo(HaveOccurred(), "one object has to be taken as it is")
	g.Expect(page.Items).To(HaveLen(25))
}

// slow is a shelf that answers only short pages in time.
type slow struct {
	*shelf
	most   int64
	limits []int64
}

func (s *slow) List(ctx context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	if s.limits = append(s.limits, opts.Limit); opts.Limit > s.most {
		return nil, status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "the request did not complete in time")
	}
	return s.shelf.List(ctx, opts)
}

func TestAPageThatTakesTooLongIsAskedForAsShorterOnes(t *testing.T) {
	g := NewWithT(t)
	s := &slow{shelf: newShelf(200), most: 60}
	_, result, err := walkOver(s.shelf, func(w *Walk) { w.Objects, w.PageSize, w.Workers = s, 0, 8 })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Done()).To(BeEquivalentTo(200))
	g.Expect(s.limits[:5]).To(Equal([]int64{50, 500, 125, 31, 31}), "no longer page is tried again")
}

func TestAnAnswerWithoutAResourceVersionIsNotTheAPIServers(t *testing.T) {
	g := NewWithT(t)
	for _, answer := range []string{`{}`, `{"items":[]}`, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[]}`} {
		_, err := readPage(strings.NewReader(answer), 40)
		g.Expect(err).To(MatchError(ErrNoAnswer), answer)
	}
}
