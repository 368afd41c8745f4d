package preview

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// What Flux has put into a CRD for long is no fault of the change.
func TestAVariableInACRDCountsWhereItIsNew(t *testing.T) {
	with := func(annotation string) string {
		return strings.Replace(widgetsCRD, "metadata: {", "metadata: {annotations: {a: '"+annotation+"'}, ", 1)
	}
	short := func(crd string) string {
		return strings.Replace(crd, "kind: Widget", "kind: Widget, shortNames: [w]", 1)
	}
	for name, c := range map[string]struct {
		before, after string
		code          int
	}{
		"as before": {with("${x:=1}"), short(with("${x:=1}")), cli.ExitDone},
		"new":       {with("x"), short(with("${x:=1}")), cli.ExitNotDone},
		"another":   {with("${y:=1}"), short(with("${x:=1}")), cli.ExitNotDone},
	} {
		t.Run(name, func(t *testing.T) {
			g := overlooked{
				common: files{"clusters/a/k.yaml": fluxTo("./crds", " postBuild: {substituteFrom: [{kind: Secret, name: s}]},")},
				base:   files{"crds/w.yaml": c.before}, head: files{"crds/w.yaml": c.after},
			}.write(t)
			g.Expect(c.before).NotTo(Equal(widgetsCRD))
			code, out, errOut := previewed(t, "--base", "base", "--head", "head")
			g.Expect(code).To(Equal(c.code), out+errOut)
		})
	}
}
