package repairs

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Listed is an object as a list has it.
type Listed struct {
	At              schema.GroupVersionResource
	Key             types.NamespacedName
	ResourceVersion string
}

// Elsewhere says where to find an object that is listed as in the look before, and was not met by its name in either. The API server lists
// what lies under any key in etcd. One that was deleted or written since is not listed so again, and each first time asks for another look.
func (w *Work) Elsewhere(is Listed) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unmet[1][is] = true
	if !w.unmet[0][is] {
		w.now++
		return nil
	}
	return fmt.Errorf("its key in etcd is not that of its name, or another key has its name, too; look in etcd for mod_revision %s", is.ResourceVersion)
}
