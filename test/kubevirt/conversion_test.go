package kubevirt

import (
	stdjson "encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"kubevirt.io/api/instancetype/v1alpha1"
	"kubevirt.io/api/instancetype/v1alpha2"
	"sigs.k8s.io/randfill"

	"github.com/moult-dev/moult/policies/survivors"
)

func move(g *WithT) *survivors.Move {
	for _, p := range survivors.Embedded() {
		if p.Name == "kubevirt-vm-revisions" {
			m := survivors.MoveOf(&p)
			g.Expect(m).NotTo(BeNil())
			return m
		}
	}
	g.Expect("kubevirt-vm-revisions").To(BeNil(), "there is no such place")
	return nil
}

// random fills typed objects with values of every sort, and leaves half of the pointers and lists out.
func random(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.5).NumElements(1, 3).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(1<<40), resource.BinarySI)
		},
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			*m = metav1.ObjectMeta{Name: "small", UID: types.UID(fmt.Sprintf("%08x", c.Uint32())), Generation: c.Int63n(9), ResourceVersion: "7"}
		},
		func(n *uint, c randfill.Continue) { *n = uint(c.Uint32()) }, // as JSON decoders have it: at most an int64
		func(_ *metav1.TypeMeta, _ randfill.Continue) {},
	)
}

// ours is a payload as Moult converts it.
func ours(g *WithT, raw []byte) []byte {
	var data map[string]any
	g.Expect(kjson.Unmarshal(raw, &data)).To(Succeed())
	m := move(g)
	c, err := m.ReadCopy(group, map[string]any{"data": data})
	g.Expect(err).NotTo(HaveOccurred(), string(raw))
	c, err = m.Convert(group, c)
	g.Expect(err).NotTo(HaveOccurred(), string(raw))
	out, err := stdjson.Marshal(c.Object())
	g.Expect(err).NotTo(HaveOccurred())
	return out
}

func expectSame(g *WithT, raw []byte) {
	want, err := resolved(raw)
	g.Expect(err).NotTo(HaveOccurred(), string(raw))
	mine := ours(g, raw)
	got, err := resolved(mine)
	g.Expect(err).NotTo(HaveOccurred(), string(mine))
	g.Expect(got).To(BeAssignableToTypeOf(want))
	if !equality.Semantic.DeepEqual(got, want) {
		g.Expect(cmp.Diff(want, got)).To(BeEmpty(), "of "+string(raw))
	}
}

func TestCopiesAreConvertedAsKubeVirtDoes(t *testing.T) {
	kinds := map[string]func() any{
		"v1alpha1 VirtualMachineInstancetype":        func() any { return &v1alpha1.VirtualMachineInstancetype{} },
		"v1alpha1 VirtualMachineClusterInstancetype": func() any { return &v1alpha1.VirtualMachineClusterInstancetype{} },
		"v1alpha1 VirtualMachinePreference":          func() any { return &v1alpha1.VirtualMachinePreference{} },
		"v1alpha1 VirtualMachineClusterPreference":   func() any { return &v1alpha1.VirtualMachineClusterPreference{} },
		"v1alpha2 VirtualMachineInstancetype":        func() any { return &v1alpha2.VirtualMachineInstancetype{} },
		"v1alpha2 VirtualMachineClusterInstancetype": func() any { return &v1alpha2.VirtualMachineClusterInstancetype{} },
		"v1alpha2 VirtualMachinePreference":          func() any { return &v1alpha2.VirtualMachinePreference{} },
		"v1alpha2 VirtualMachineClusterPreference":   func() any { return &v1alpha2.VirtualMachineClusterPreference{} },
	}
	for name, made := range kinds {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for seed := range int64(200) {
				object := made()
				if seed > 0 {
					random(seed).Fill(object)
				}
				expectSame(g, payload(g, name, object))
			}
		})
	}
}

func TestCopiesWithoutAKindAreConvertedAsKubeVirtDoes(t *testing.T) {
	g := NewWithT(t)
	for seed := range int64(200) {
		instancetype, preference := &v1alpha1.VirtualMachineInstancetypeSpec{}, &v1alpha1.VirtualMachinePreferenceSpec{}
		if seed > 0 {
			random(seed).Fill(instancetype)
			random(seed).Fill(preference)
		}
		expectSame(g, withoutKind(g, instancetype))
		expectSame(g, withoutKind(g, preference))
	}
}

func TestFieldsThatTheOldVersionDidNotHaveMeanNothing(t *testing.T) {
	g := NewWithT(t)
	expectSame(g, []byte(`{"apiVersion":"instancetype.kubevirt.io/v1alpha2","kind":"VirtualMachineInstancetype","metadata":{"name":"small"},
		"spec":{"cpu":{"guest":1,"maxSockets":4,"model":null},"memory":{"guest":"1Gi","overcommitPercent":20},"nodeSelector":{"a":"b"},"else":1}}`))
	expectSame(g, []byte(`{"apiVersion":"instancetype.kubevirt.io/v1alpha1","kind":"VirtualMachinePreference","metadata":{"name":"small"},
		"spec":{"cpu":{"preferredCPUTopology":"","preferredCPUFeatures":[{"name":"x"}]},"volumes":{"preferredStorageClassName":"fast"},"annotations":{"a":"b"}}}`))
}

func TestWhatKubeVirtCannotReadIsNotConverted(t *testing.T) {
	for name, raw := range map[string]string{
		"a field that no kind has": `{"apiVersion":"","spec":"eyJ3aGF0IjoxfQ=="}`,
		"fields of two kinds":      `{"apiVersion":"","spec":"eyJtZW1vcnkiOnsiZ3Vlc3QiOiIxR2kifSwiY2xvY2siOnt9fQ=="}`,
		"no base64":                `{"apiVersion":"","spec":"?"}`,
		"no JSON":                  `{"apiVersion":"","spec":"e30ge30="}`,
		"no kind":                  `{"apiVersion":"instancetype.kubevirt.io/v1alpha2","spec":{}}`,
		"another group":            `{"apiVersion":"example.com/v1alpha2","kind":"VirtualMachineInstancetype","spec":{}}`,
		"another kind":             `{"apiVersion":"instancetype.kubevirt.io/v1alpha2","kind":"Gadget","spec":{}}`,
		"another version":          `{"apiVersion":"instancetype.kubevirt.io/v1alpha9","kind":"VirtualMachineInstancetype","spec":{}}`,
		"a spec that is a list":    `{"apiVersion":"instancetype.kubevirt.io/v1alpha2","kind":"VirtualMachineInstancetype","spec":[]}`,
		"a part that is a text":    `{"apiVersion":"instancetype.kubevirt.io/v1alpha2","kind":"VirtualMachineInstancetype","spec":{"cpu":"two"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := resolved([]byte(raw))
			g.Expect(err).To(HaveOccurred(), "KubeVirt reads it")
			var data map[string]any
			g.Expect(kjson.Unmarshal([]byte(raw), &data)).To(Succeed())
			m := move(g)
			c, err := m.ReadCopy(group, map[string]any{"data": data})
			if err == nil {
				_, err = m.Convert(group, c)
			}
			g.Expect(err).To(HaveOccurred())
		})
	}
}
