package simulation

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
)

// claims holds what Moult has claimed against what etcd holds, at each write. All its methods need etcd's lock.
//
//   - A trim, a condition that says Migrated, and an open gate each promise that every object is stored at the storage
//     version, and stays so until that changes.
//   - Whatever happens, each object's version is named in storedVersions. The API server sees to that at a flip, and
//     Moult must not break it. It is not asked for once somebody else has broken it.
type claims struct {
	w        *world
	promises map[string]promise
	excused  bool // somebody else has made storedVersions wrong
	broken   string
}

type promise struct {
	uid     types.UID
	storage string
}

// promise notes a claim about the CRD as it is given.
func (c *claims) promise(what string, crd *apiextensionsv1.CustomResourceDefinition) {
	c.promises[what] = promise{crd.UID, storageVersion(crd)}
	if what == "the condition" {
		c.excused = false
	}
}

// check looks for an object that refutes a claim.
func (c *claims) check() {
	crd := c.w.etcd.current()
	if crd == nil {
		clear(c.promises)
		return
	}
	for what, p := range c.promises {
		if p.uid != crd.UID || p.storage != storageVersion(crd) {
			delete(c.promises, what) // it has held as long as it was about what is
		}
	}
	for _, name := range c.w.etcd.names() {
		c.checkObject(crd, name, c.w.etcd.objects[name].version)
	}
}

func (c *claims) checkObject(crd *apiextensionsv1.CustomResourceDefinition, name, version string) {
	for _, what := range []string{"the trim", "the condition", "the gate"} {
		if p, made := c.promises[what]; made && version != p.storage {
			c.refute("%s promised that all is stored at %s, but %s is stored at %s", what, p.storage, name, version)
		}
	}
	if !c.excused && !slices.Contains(crd.Status.StoredVersions, version) {
		c.refute("storedVersions is %v, but %s is stored at %s", crd.Status.StoredVersions, name, version)
	}
}

func (c *claims) refute(format string, args ...any) {
	if c.broken == "" {
		c.broken = fmt.Sprintf(format, args...)
		c.w.tell(refuted+"%s", c.broken)
	}
}

// refuted begins the last line of a story that refutes a claim.
const refuted = "REFUTED: "
