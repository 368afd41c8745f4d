package optin

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

func TestOptInLabelsTheCRDsOfAChart(t *testing.T) {
	g := widgets(t, "helmCharts: [{name: c, includeCRDs: true}]\n")
	g.Expect(os.MkdirAll("crds/charts/c/crds", 0o750)).To(Succeed())
	g.Expect(os.Rename("crds/widgets.yaml", "crds/charts/c/crds/widgets.yaml")).To(Succeed())
	g.Expect(os.WriteFile("crds/charts/c/Chart.yaml", []byte("apiVersion: v2\nname: c\nversion: 0.1.0\n"), 0o600)).To(Succeed())
	out, errOut, code := optIn(t, "crds")
	g.Expect(code).To(Equal(cli.ExitDone), out+errOut)
	g.Expect(os.ReadFile("crds/kustomization.yaml")).To(ContainSubstring("moult-opt-in"))
}
