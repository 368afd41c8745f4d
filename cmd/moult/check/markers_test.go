package check

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

func TestCheckMarkers(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	const marked = "// +kubebuilder:storageversion\n// +kubebuilder:metadata:labels=\"moult.dev/migrate=true\"\ntype Widget struct{}\n"
	for name, content := range map[string]string{
		"api/doc.go":                    "package api\n",
		"api/v1/widget.go":              "package v1\n\n" + marked,
		"api/v1/widget_test.go":         "package v1\n\n// +kubebuilder:storageversion\ntype Test struct{}\n",
		"api/v1alpha1/widget.go":        "package v1alpha1\n\ntype Widget struct{}\n",
		"api/v1alpha1/testdata/x.go":    "package x\n\n// +kubebuilder:storageversion\ntype X struct{}\n",
		"other/v1/gadget.go":            "package v1\n\n// +kubebuilder:storageversion\ntype Gadget struct{}\n",
		"other/v1alpha1/gadget.go":      "package v1alpha1\n\ntype Gadget struct{}\n",
		"other/v1alpha1/broken.go":      "no Go\n",
		"single/v1/thing.go":            "package v1\n\n// +kubebuilder:storageversion\ntype Thing struct{}\n",
		"broken/x.go":                   "no Go\n",
		"empty/README.md":               "nothing\n",
		"other/vendor/example.com/x.go": "package x\n\n// +kubebuilder:storageversion\ntype X struct{}\n",
	} {
		g.Expect(os.MkdirAll(filepath.Dir(name), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(name, []byte(content), 0o600)).To(Succeed())
	}
	for name, c := range map[string]struct {
		args      []string
		code      int
		out, says string
	}{
		"all are marked":         {[]string{"./api/..."}, cli.ExitDone, "1 Go type marked +kubebuilder:storageversion, 0 without the opt-in marker\n", ""},
		"one is not":             {[]string{"./api/...", "./other/v1/..."}, cli.ExitNotDone, "error: NoMarker  other/v1/gadget.go:4\n  v1.Gadget is the storage version's type, and no marker", "1 type without the opt-in marker"},
		"a file":                 {[]string{"other/v1/gadget.go"}, cli.ExitNotDone, "NoMarker  other/v1/gadget.go:4", "1 type without"},
		"the only version":       {[]string{"single/v1"}, cli.ExitDone, "1 Go type marked +kubebuilder:storageversion, 0 without", ""},
		"a folder":               {[]string{"api/v1"}, cli.ExitDone, "1 Go type marked", ""},
		"another label":          {[]string{"api/v1", "--label-key", "x.example.com/migrate"}, cli.ExitNotDone, "no marker puts the label x.example.com/migrate", ""},
		"no storage version":     {[]string{"api/v1alpha1"}, cli.ExitError, "", "no type there is marked +kubebuilder:storageversion"},
		"no Go file":             {[]string{"empty"}, cli.ExitError, "", "there is no Go file in empty; write empty/..."},
		"the folder has no file": {[]string{"other"}, cli.ExitError, "", "there is no Go file in other"},
		"no Go":                  {[]string{"broken"}, cli.ExitError, "", "broken/x.go cannot be read as Go"},
		"no such folder":         {[]string{"nowhere/..."}, cli.ExitError, "", "nowhere: there is no such file or folder; name one"},
		"nothing":                {nil, cli.ExitError, "", "name at least one PATH"},
		"an unknown format":      {[]string{"api/v1", "-o", "wide"}, cli.ExitError, "", "-o wide is none of"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := moult.Run(t, append([]string{"check", "markers"}, c.args...)...)
			g.Expect(got.Code).To(Equal(c.code), got.ErrOut)
			g.Expect(got.Out).To(ContainSubstring(c.out))
			g.Expect(got.ErrOut).To(ContainSubstring(c.says))
		})
	}
	got := moult.Run(t, "check", "markers", "./other/v1", "-o", "json")
	g.Expect(got.Code).To(Equal(cli.ExitNotDone))
	var report markersReport
	g.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed())
	g.Expect(report.OK).To(BeFalse())
	g.Expect(report.Types).To(Equal([]string{"v1.Gadget"}))
	g.Expect(report.Findings).To(ConsistOf(HaveField("Place.File", "other/v1/gadget.go")))
}
