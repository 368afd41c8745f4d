package optin

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestMarkersAreAskedOfTheStorageVersionsType(t *testing.T) {
	const head = "package v1\n\n"
	for name, c := range map[string]struct {
		source string
		types  []string
		want   string // empty: nothing is found
	}{
		"it is marked": {"// +kubebuilder:storageversion\n// +kubebuilder:metadata:labels=\"moult.dev/migrate=true\"\ntype Widget struct{}\n", []string{"v1.Widget"}, ""},
		"it is left out on purpose": {"// +kubebuilder:storageversion\n// +kubebuilder:metadata:labels=\"moult.dev/migrate=false\"\ntype Widget struct{}\n",
			[]string{"v1.Widget"}, ""},
		"it is not marked":      {"// Widget is one.\n//\n// +kubebuilder:storageversion\ntype Widget struct{}\n", []string{"v1.Widget"}, "no marker puts the label moult.dev/migrate on its CRD"},
		"without a space":       {"//+kubebuilder:storageversion\n//+kubebuilder:metadata:labels=\"moult.dev/migrate=true\"\ntype Widget struct{}\n", []string{"v1.Widget"}, ""},
		"another label is set":  {"// +kubebuilder:storageversion\n// +kubebuilder:metadata:labels=\"team=a\"\ntype Widget struct{}\n", []string{"v1.Widget"}, "no marker puts"},
		"the label says yes":    {"// +kubebuilder:storageversion\n// +kubebuilder:metadata:labels=\"moult.dev/migrate=yes\"\ntype Widget struct{}\n", []string{"v1.Widget"}, `the value "yes"`},
		"it is an annotation":   {"// +kubebuilder:storageversion\n// +kubebuilder:metadata:annotations=\"moult.dev/migrate=true\"\ntype Widget struct{}\n", []string{"v1.Widget"}, "no marker puts"},
		"it is among others":    {"// +kubebuilder:storageversion\n// +kubebuilder:metadata:labels={\"team=a\",\"moult.dev/migrate=true\"}\ntype Widget struct{}\n", []string{"v1.Widget"}, ""},
		"between semicolons":    {"// +kubebuilder:storageversion\n// +kubebuilder:metadata:labels=\"team=a\";\"moult.dev/migrate=true\"\ntype Widget struct{}\n", []string{"v1.Widget"}, ""},
		"behind an annotation":  {"// +kubebuilder:storageversion\n// +kubebuilder:metadata:annotations=\"x=y\",labels=\"moult.dev/migrate=true\"\ntype Widget struct{}\n", []string{"v1.Widget"}, ""},
		"before an annotation":  {"// +kubebuilder:storageversion\n// +kubebuilder:metadata:labels=\"team=a\",annotations=\"moult.dev/migrate=true\"\ntype Widget struct{}\n", []string{"v1.Widget"}, "no marker puts"},
		"in its own comment":    {"// +kubebuilder:storageversion\n// +kubebuilder:metadata:labels=\"moult.dev/migrate=true\"\n\n// Widget is one.\ntype Widget struct{}\n", []string{"v1.Widget"}, ""},
		"above the type before": {"// +kubebuilder:metadata:labels=\"moult.dev/migrate=true\"\ntype Gadget struct{}\n\n// +kubebuilder:storageversion\ntype Widget struct{}\n", []string{"v1.Widget"}, "v1.Widget is the storage version's type"},
		"two comments above": {"// +kubebuilder:metadata:labels=\"moult.dev/migrate=true\"\n\n// nothing\n\n// +kubebuilder:storageversion\ntype Widget struct{}\n",
			[]string{"v1.Widget"}, "no marker puts"},
		"in brackets": {"type (\n\t// +kubebuilder:storageversion\n\tWidget struct{}\n\t// +kubebuilder:storageversion\n\t// +kubebuilder:metadata:labels=\"moult.dev/migrate=true\"\n\tGadget struct{}\n)\n",
			[]string{"v1.Widget", "v1.Gadget"}, "v1.Widget is the storage"},
		"another version's type need not": {"// +kubebuilder:object:root=true\ntype Widget struct{}\n", nil, ""},
		"a comment in C's way is none":    {"/* +kubebuilder:storageversion */\ntype Widget struct{}\n", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			types, findings, err := Markers("api/v1/widget.go", []byte(head+c.source), "moult.dev/migrate", severalVersions)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(types).To(Equal(c.types))
			if c.want == "" {
				g.Expect(findings).To(BeEmpty())
				return
			}
			g.Expect(findings).To(HaveLen(1))
			g.Expect(findings[0].Why).To(ContainSubstring(c.want))
			g.Expect(findings[0].Rule).To(Equal(NoMarker))
			g.Expect(findings[0].Remediation).To(ContainSubstring(`// +kubebuilder:metadata:labels="moult.dev/migrate=true" above the type`))
		})
	}
}

func TestAMarkersFindingNamesTheLine(t *testing.T) {
	g := NewWithT(t)
	_, findings, err := Markers("x.go", []byte("package v1\n\n// +kubebuilder:storageversion\ntype Widget struct{}\n"), "moult.dev/migrate", severalVersions)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(findings).To(ConsistOf(HaveField("Place.Line", 4)))
}

func TestWhatIsNoGoIsAnError(t *testing.T) {
	g := NewWithT(t)
	_, _, err := Markers("x.go", []byte("no Go"), "moult.dev/migrate", severalVersions)
	g.Expect(err).To(MatchError(ContainSubstring("x.go cannot be read as Go")))
}

func severalVersions(string) bool { return false }

func TestATypeOfOneVersionNeedsNoMarker(t *testing.T) {
	for name, c := range map[string]struct {
		marker string
		found  int
	}{
		"none":               {"", 0},
		"the right one":      {"// +kubebuilder:metadata:labels=\"moult.dev/migrate=true\"\n", 0},
		"another value":      {"// +kubebuilder:metadata:labels=\"moult.dev/migrate=yes\"\n", 1},
		"that of other ends": {"// +kubebuilder:metadata:labels=\"team=a\"\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			types, findings, err := Markers("x.go", []byte("package v1\n\n// +kubebuilder:storageversion\n"+c.marker+"type Widget struct{}\n"), "moult.dev/migrate",
				func(name string) bool { return name == "Widget" })
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(types).To(ConsistOf("v1.Widget"))
			g.Expect(findings).To(HaveLen(c.found))
		})
	}
}
