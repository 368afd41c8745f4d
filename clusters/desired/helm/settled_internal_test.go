package helm

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/charts"
)

// Dashboards come as a list of ConfigMaps, most often.
func TestAListOfConfigMapsBringsNothing(t *testing.T) {
	g := NewWithT(t)
	list := func(kind string) charts.Dependent {
		return charts.Dependent{Text: "kind: ConfigMapList\nitems:\n- kind: " + kind + "\n  data: {{ .Files.Get $path | toJson }}\n"}
	}
	g.Expect(isPlain(list("ConfigMap"))).To(BeTrue())
	g.Expect(isPlain(list("Subscription"))).To(BeFalse())
}
