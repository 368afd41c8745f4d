package rewrite

import (
	"context"
	"io"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mute is a way to a shelf on which the first answer to each object's write is
// lost, although the write is carried out.
type mute struct {
	*shelf
	mu    sync.Mutex
	asked map[string]bool
}

func (m *mute) Patch(ctx context.Context, key types.NamespacedName, kind types.PatchType, body []byte) (*metav1.PartialObjectMetadata, error) {
	after, err := m.shelf.Patch(ctx, key, kind, body)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.asked[key.Name] {
		m.asked[key.Name] = true
		return nil, io.ErrUnexpectedEOF
	}
	return after, err
}

func TestACheckKnowsItsOwnRewriteEvenIfTheAnswerIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		stale bool
		want  map[Outcome]int64
	}{
		"stale objects are no proof":                       {true, map[Outcome]int64{Rewritten: 20}},
		"current ones are, since their writes did nothing": {false, map[Outcome]int64{Current: 20}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newShelf(20)
			for _, o := range s.objects {
				o.stale = c.stale
			}
			_, result, err := walkOver(s, func(w *Walk) {
				w.Mode, w.Objects = Check, &mute{shelf: s, asked: map[string]bool{}}
				w.Workers = 20
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By).To(Equal(c.want))
		})
	}
}
