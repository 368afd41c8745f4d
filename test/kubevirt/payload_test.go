package kubevirt

import (
	stdjson "encoding/json"
	"strings"

	. "github.com/onsi/gomega"
)

// payload is an object with its kind, given as in "v1alpha2 VirtualMachinePreference".
func payload(g *WithT, kind string, object any) []byte {
	version, kind, _ := strings.Cut(kind, " ")
	raw, err := stdjson.Marshal(object)
	g.Expect(err).NotTo(HaveOccurred())
	var fields map[string]any
	g.Expect(stdjson.Unmarshal(raw, &fields)).To(Succeed())
	fields["apiVersion"], fields["kind"] = group+"/"+version, kind
	raw, err = stdjson.Marshal(fields)
	g.Expect(err).NotTo(HaveOccurred())
	return raw
}

// withoutKind is a spec as KubeVirt stashed it at first.
func withoutKind(g *WithT, spec any) []byte {
	raw, err := stdjson.Marshal(spec)
	g.Expect(err).NotTo(HaveOccurred())
	raw, err = stdjson.Marshal(map[string]any{"apiVersion": "", "spec": raw})
	g.Expect(err).NotTo(HaveOccurred())
	return raw
}
