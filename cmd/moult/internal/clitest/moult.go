// Package clitest runs subcommands of moult in tests, on files and against a control plane.
package clitest

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// Moult is a moult that has some of its subcommands.
type Moult []func(*cli.Factory) *cobra.Command

// Answer is what a command line brought.
type Answer struct {
	Code        int
	Out, ErrOut string
}

// Run executes a command line.
func (m Moult) Run(t testing.TB, args ...string) Answer {
	t.Helper()
	return m.RunContext(t.Context(), nil, args...)
}

// Piped executes a command line with something on standard input.
func (m Moult) Piped(t testing.TB, stdin string, args ...string) Answer {
	t.Helper()
	return m.RunContext(t.Context(), strings.NewReader(stdin), args...)
}

// RunContext executes a command line that may be interrupted.
func (m Moult) RunContext(ctx context.Context, stdin io.Reader, args ...string) Answer {
	var out, errOut bytes.Buffer
	f := &cli.Factory{Name: "moult", Out: &out, ErrOut: &errOut}
	root := f.Root()
	root.SetIn(stdin)
	for _, newCommand := range m {
		root.AddCommand(newCommand(f))
	}
	code := f.Run(ctx, root, args)
	return Answer{Code: code, Out: out.String(), ErrOut: errOut.String()}
}

// InRepository writes files into a new folder, and goes there.
func InRepository(t *testing.T, files map[string]string) *WithT {
	t.Helper()
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	for name, content := range files {
		g.Expect(os.MkdirAll(filepath.Dir(name), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(name, []byte(content), 0o600)).To(Succeed())
	}
	return g
}

// Read is the content of a file.
func Read(g *WithT, file string) string {
	content, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// Widgets is a CRD that has only v1 left.
const Widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`

// Rose is an object of it, at the version that no longer exists.
const Rose = "# ours\napiVersion: example.com/v1alpha1\nkind: Widget\nmetadata:\n    name:   rose\nspec: {size: 3}\n"
