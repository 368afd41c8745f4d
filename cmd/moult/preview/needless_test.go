package preview

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// What cannot be seen is the same while only that changes which decides nothing about it. In all else, each change may decide.
func TestOfWhatIsNotSeenOnlyWhatDecidesIsAReasonToAsk(t *testing.T) {
	const (
		deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {of: 1.0.0}\n"
	)
	answering := func(command string) overlooked {
		return bump("crds/j.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {containers: [{name: j, image: x, command: [sh, -c, \"until "+command+"; do sleep 1; done; kubectl apply -f /x\"]}]}}}\n", inFlux(nil))
	}
	for name, c := range map[string]struct {
		overlooked

		asks bool
	}{
		"a folder called as something in Terraform": {bump("addons/d.yaml", deployment, files{"b/w.yaml": widgetsCRD, "tf/main.tf": releaseOf + "module \"m\" {\n  addons = local.addons\n  chart_version = \"1\"\n}\n"}), false},
		"a folder that Terraform names":             {bump("addons/d.yaml", deployment, files{"b/w.yaml": widgetsCRD, "tf/main.tf": releaseOf + "module \"m\" {\n  addons = \"addons\"\n  chart_version = \"1\"\n}\n"}), true},
		"whether something answers":                 {answering("curl -sf https://it/1.0.0/x.json >/dev/null 2>&1"), false},
		"what is fetched":                           {answering("curl -sf https://it/1.0.0/x.json >/x 2>/dev/null"), true},
		"what is fetched into a file":               {answering("curl -sfo /x https://it/1.0.0/x.json >/dev/null"), true},
		"what is sent":                              {answering("curl -d$(curl -s https://it/1.0.0/x.json | kubectl apply -f -) http://it >/dev/null"), true},
	} {
		t.Run(name, func(t *testing.T) {
			g := c.write(t)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline")
			want := cli.ExitDone
			if c.asks {
				want = cli.ExitUnknown
			}
			g.Expect(code).To(Equal(want), out+errOut)
		})
	}
}
