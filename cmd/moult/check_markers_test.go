package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
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
		"all are marked":         {[]string{"./api/..."}, exitDone, "1 Go type marked +kubebuilder:storageversion, 0 without the opt-in marker\n", ""},
		"one is not":             {[]string{"./api/...", "./other/..."}, exitNotDone, "error: NoMarker  other/v1/gadget.go:4\n  v1.Gadget is the storage version's type, and no marker", "1 type without the opt-in marker"},
		"a file":                 {[]string{"other/v1/gadget.go"}, exitNotDone, "NoMarker  other/v1/gadget.go:4", "1 type without"},
		"a folder":               {[]string{"api/v1"}, exitDone, "1 Go type marked", ""},
		"another label":          {[]string{"api/v1", "--label-key", "x.example.com/migrate"}, exitNotDone, "no marker puts the label x.example.com/migrate", ""},
		"no storage version":     {[]string{"api/v1alpha1"}, exitError, "", "no type there is marked +kubebuilder:storageversion"},
		"no Go file":             {[]string{"empty"}, exitError, "", "there is no Go file in empty; write empty/..."},
		"the folder has no file": {[]string{"other"}, exitError, "", "there is no Go file in other"},
		"no Go":                  {[]string{"broken"}, exitError, "", "broken/x.go cannot be read as Go"},
		"no such folder":         {[]string{"nowhere/..."}, exitError, "", "nowhere: there is no such file or folder; name one"},
		"nothing":                {nil, exitError, "", "name at least one PATH"},
		"an unknown format":      {[]string{"api/v1", "-o", "wide"}, exitError, "", "-o wide is none of"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var out, errOut strings.Builder
			code := run(t.Context(), "moult", append([]string{"check", "markers"}, c.args...), &out, &errOut)
			g.Expect(code).To(Equal(c.code), errOut.String())
			g.Expect(out.String()).To(ContainSubstring(c.out))
			g.Expect(errOut.String()).To(ContainSubstring(c.says))
		})
	}
	var out, errOut strings.Builder
	g.Expect(run(t.Context(), "moult", []string{"check", "markers", "./other/...", "-o", "json"}, &out, &errOut)).To(Equal(exitNotDone))
	var report markersReport
	g.Expect(json.Unmarshal([]byte(out.String()), &report)).To(Succeed())
	g.Expect(report.OK).To(BeFalse())
	g.Expect(report.Types).To(Equal([]string{"v1.Gadget"}))
	g.Expect(report.Findings).To(ConsistOf(HaveField("File", "other/v1/gadget.go")))
}
