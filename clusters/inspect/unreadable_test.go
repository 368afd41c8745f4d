package inspect

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/doctor"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

// namesCorrupt is the minor version of Kubernetes from which on a list names the objects that cannot be read from etcd.
const namesCorrupt = 37

func TestTheDoctorFindsTheObjectsThatCannotBeReadFromEtcd(t *testing.T) {
	t.Parallel()
	if cp.Minor < namesCorrupt {
		return // the test below is about such a server
	}
	w := newWorld(t)
	w.install(w.widgets(), 5)
	left := `{"apiVersion":"` + w.GR.Group + `/v0","kind":"Widget","metadata":{"name":"object-00003","namespace":"default"}}`
	w.Expect(cp.Etcd().Put(t.Context(), w.GR, "default", "object-00002", []byte("garbage"))).To(Succeed())
	w.Expect(cp.Etcd().Put(t.Context(), w.GR, "default", "object-00003", []byte(left))).To(Succeed())
	w.Expect(w.unreadable(cp)).To(ConsistOf(
		And(HaveField("Name", "default/object-00002"), HaveField("Why", HaveSuffix("invalid character 'g' looking for beginning of value"))),
		And(HaveField("Name", "default/object-00003"), HaveField("Why", HaveSuffix("invalid group/version: "+w.GR.Group+"/v0"))),
	))
}

// An older server says only what is wrong with the first of them, and so does a new one without its feature. The watch cache of an
// older one may go on serving what was there before.
func TestWhereTheServerDoesNotNameTheObjectItsPlaceIsFound(t *testing.T) {
	t.Parallel()
	like := controlplane.Flag("feature-gates", "AllowUnsafeMalformedObjectDeletion=false")
	if cp.Minor < namesCorrupt {
		like = controlplane.Flag("watch-cache", "false")
	}
	own, err := controlplane.Start(like)
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(own.Stop()).To(Succeed()) }()
	t.Run("objects", func(t *testing.T) {
		for name, behind := range map[string]string{"object-00002": "default/object-00001", "object-00000": ""} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				running.Install(t, own, w.widgets().Build()).Create(5)
				for _, garbled := range []string{name, "object-00004"} {
					w.Expect(own.Etcd().Put(t.Context(), w.GR, "default", garbled, []byte("garbage"))).To(Succeed())
				}
				w.Expect(w.unreadable(own)).To(ConsistOf(doctor.Unreadable{Behind: behind, Why: "invalid character 'g' looking for beginning of value"}))
			})
		}
	})
}

// unreadable is what the doctor's look at a control plane shows of the world's CRD.
func (w *world) unreadable(at *controlplane.ControlPlane) []doctor.Unreadable {
	w.t.Helper()
	c, err := Connect(at.Config)
	w.Expect(err).NotTo(HaveOccurred())
	state, err := c.Examine(w.t.Context(), Examination{CRDs: []string{w.GR.String()}, LabelKey: "moult.dev/migrate"})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(state.CRDs).To(HaveLen(1))
	w.Expect(state.CRDs[0].Unreadable.Not).To(BeEmpty())
	w.Expect(state.CRDs[0].In.Not).To(ContainSubstring("could not be read"))
	return state.CRDs[0].Unreadable.Value
}
