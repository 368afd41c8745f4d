package charts

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// endless writes a text of any length without calling a function that could refuse.
const endless = "{{ range 2000000000 }}a text that becomes longer and longer and longer and longer{{ end }}"

// A template cannot be interrupted: what takes too much memory is given up, and then ends the process with an error.
func TestATemplateCannotTakeAllMemory(t *testing.T) {
	g := NewWithT(t)
	if dir := os.Getenv("ENDLESS_CHART"); dir != "" {
		mostMemory = 64 << 20
		chart, err := Folder(dir, dir)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = chart.Render(t.Context(), Release{})
		g.Expect(err).To(MatchError("it takes more than 64 MiB of memory"))
		time.Sleep(20 * time.Second)
		return
	}
	dir := t.TempDir()
	g.Expect(os.Mkdir(filepath.Join(dir, "templates"), 0o750)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte("apiVersion: v2\nname: c\nversion: 1.0.0\n"), 0o600)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(dir, "templates", "x.yaml"), []byte(endless), 0o600)).To(Succeed())
	test := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	test.Env = append(os.Environ(), "ENDLESS_CHART="+dir)
	var said bytes.Buffer
	test.Stderr = &said
	var ended *exec.ExitError
	g.Expect(errors.As(test.Run(), &ended)).To(BeTrue())
	g.Expect(ended.ExitCode()).To(Equal(1))
	g.Expect(said.String()).To(ContainSubstring("takes more than 128 MiB of memory and cannot be stopped"))
}
