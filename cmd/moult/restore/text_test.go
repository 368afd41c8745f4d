package restore

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWhatAPersonReads(t *testing.T) {
	w := ownedBy(t, 3, func(int) int { return 0 })
	w.backup()
	w.patch("v1", name(1), "hand", spec("other"))
	w.patch("v1", name(2), "controller", map[string]any{"status": map[string]any{"phase": "Gone"}}, "status")
	for args, want := range map[string]string{
		"": `       1 as in the backup
       1 with another status, left
         default/object-00002: status.phase
       1 with other content, left
         default/object-00001: it is there with other content; --overwrite writes over it:
         spec.color
`,
		"--overwrite --dry-run": `       2 would be overwritten
       1 as in the backup
`,
	} {
		got := w.Run(append([]string{"restore", "-f", w.file}, strings.Fields(args)...)...)
		w.Expect(got.Out).To(Equal(w.CRD.Name+"  3 objects\n"+want), got.ErrOut)
	}
	got := w.Run("backup", "verify", w.file)
	w.Expect(got.Code).To(BeZero(), got.ErrOut)
	w.Expect(got.Out).To(And(HavePrefix(w.file+"  verified, of 2"), ContainSubstring("\n  sha256:"), HaveSuffix("\n  "+w.CRD.Name+"  3 objects, at v1, v1alpha1\n")))
	got = w.Run("backup", w.CRD.Name, "-f", w.file)
	w.Expect(got.Code).To(Equal(2))
	w.Expect(got.ErrOut).To(ContainSubstring("is there; name another file, or write over it with --replace"))
	got = w.Run("backup", w.CRD.Name, "-f", w.file, "--replace", "-o", "json")
	w.Expect(got.Code).To(BeZero(), got.ErrOut)
	w.Expect(got.Out).To(And(ContainSubstring(`"digest": "sha256:`), ContainSubstring(`"objects": 3`), ContainSubstring(`"resourceVersion": "`)))
	got = w.Run("backup", "gone.example.com", "-f", w.file+".2")
	w.Expect(got.Code).To(Equal(2))
	w.Expect(got.ErrOut).To(ContainSubstring("no such CRD: gone.example.com"))
}
