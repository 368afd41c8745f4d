package removal

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// answers are what this process has answered, by VersionRemoval. A status tells the
// same, but not whether this process or an earlier one has found it.
type answers struct {
	mu    sync.Mutex
	known map[types.NamespacedName]answer
}

type answer struct {
	uid        types.UID
	generation int64
	proof      *v1alpha1.ProofStatus // nil if the versions were not found safe
}

func newAnswers() *answers { return &answers{known: map[types.NamespacedName]answer{}} }

// note returns whether the answer is another one than before. When managedFields
// were looked through makes no other answer of it.
func (a *answers) note(removal *v1alpha1.VersionRemoval, proof *v1alpha1.ProofStatus) (changed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name, now := client.ObjectKeyFromObject(removal), answer{uid: removal.UID, generation: removal.Generation, proof: proof}
	before, known := a.known[name]
	a.known[name] = now
	return !known || !before.same(now)
}

func (a answer) same(b answer) bool {
	if a.uid != b.uid || a.generation != b.generation || a.proof == nil || b.proof == nil {
		return a == b
	}
	return a.proof.UID == b.proof.UID && a.proof.Generation == b.proof.Generation && a.proof.StorageVersion == b.proof.StorageVersion
}

// to is the answer to a VersionRemoval as it is now; false if there is none.
func (a *answers) to(removal *v1alpha1.VersionRemoval) (answer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.known[client.ObjectKeyFromObject(removal)]
	return known, ok && known.uid == removal.UID && known.generation == removal.Generation
}

func (a *answers) forget(name types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.known, name)
}
