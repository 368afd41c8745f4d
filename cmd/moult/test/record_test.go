package test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/webhooks"
)

func TestWhatIsRecordedIsKeptByTheNextTest(t *testing.T) {
	hook := webhooks.Converting(t)
	hook.Change(remove("v1", "spec", "labels"))
	g := inFolder(t, withNested(t, hook, nested), nil)
	args := []string{"test", "record", "fresh", "--release", "release-3", "--crds", "crd.yaml", "--webhook", "crd"}
	got := moult.Run(t, args...)
	g.Expect(got.Code).To(Equal(0), got.ErrOut)
	g.Expect(got.Out).To(And(ContainSubstring("fresh/release-3/example.com.v1alpha1.Widget.after_roundtrip.yaml is written: check that you accept these differences"), ContainSubstring("lost: spec.labels")))
	recorded := clitest.Read(g, "fresh/release-3/example.com.v1alpha1.Widget.yaml")
	for _, field := range []string{"class:", "hosts:", "tokens:", "scope:", "labels:", "phase:", "replicas:"} {
		g.Expect(recorded).To(ContainSubstring(field), "it has as many fields as the schema")
	}
	report, code := tested(t, g, "fresh", "--webhook", "crd")
	g.Expect(code).To(Equal(0), "%v", report)
	g.Expect(report.CRDs[0].Fixtures).To(BeEquivalentTo(2))

	hook.Change(remove("v1", "spec", "min"))
	report, code = tested(t, g, "fresh", "--webhook", "crd")
	g.Expect(code).To(Equal(cli.ExitNotDone))
	g.Expect(report.CRDs[0].Findings).To(HaveEach(HaveField("What", "spec.min")))

	got = moult.Run(t, args...)
	g.Expect(got.Out).To(ContainSubstring("is there, and is left as it is"))
	g.Expect(clitest.Read(g, "fresh/release-3/example.com.v1alpha1.Widget.yaml")).To(Equal(recorded))
	got = moult.Run(t, append(args, "--force")...)
	g.Expect(got.Out).To(ContainSubstring("lost: spec.min"))

	g.Expect(os.WriteFile("fresh/moult-test.yaml", []byte("confirmations: [{crd: widgets.example.com, path: spec.min}]\n"), 0o600)).To(Succeed())
	report, code = tested(t, g, "fresh", "--webhook", "crd")
	g.Expect(code).To(Equal(cli.ExitNotDone), "a confirmation is never meant to be lost")
	g.Expect(report.CRDs[0].Findings[0].Kind).To(BeEquivalentTo("confirmation"))
}

func TestObjectsThatAreGivenBecomeFixtures(t *testing.T) {
	g := inFolder(t, widgets(t, nil), map[string]string{"samples/all.yaml": `apiVersion: example.com/v1
kind: Widget
metadata: {name: a, namespace: x, uid: u, resourceVersion: "3", managedFields: [], labels: {k: v}}
spec: {color: red}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: b, namespace: x}
spec: {color: blue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
`})
	got := moult.Run(t, "test", "record", "fresh", "--release", "r", "--crds", "crd.yaml", "--objects", "samples")
	g.Expect(got.Code).To(Equal(0), got.ErrOut)
	g.Expect(clitest.Read(g, "fresh/r/example.com.v1.Widget.yaml")).To(And(ContainSubstring("name: a"), ContainSubstring("k: v"), Not(ContainSubstring("uid"))))
	g.Expect(clitest.Read(g, "fresh/r/example.com.v1.Widget.x.b.yaml")).To(ContainSubstring("color: blue"))
}

func TestMistakesOfARecordingAreSaid(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
		code int
	}{
		"there is no release":         {[]string{"--crds", "crd.yaml"}, "write it like release-0.3", cli.ExitError},
		"it leads elsewhere":          {[]string{"--crds", "crd.yaml", "--release", "../a"}, "write it like release-0.3", cli.ExitError},
		"there are no CRDs":           {[]string{"--release", "a"}, "name the CRDs", cli.ExitError},
		"nothing of the objects is":   {[]string{"--release", "a", "--crds", "crd.yaml", "--objects", "crd.yaml"}, "there is no object of these CRDs", cli.ExitError},
		"the webhook is not asked":    {[]string{"--release", "a", "--crds", "hook.yaml"}, "what a trip leaves of it is not recorded: a webhook converts it, and is not asked", cli.ExitUnknown},
		"the settings cannot be read": {[]string{"--release", "a", "--crds", "crd.yaml"}, "moult-test.yaml", cli.ExitError},
	} {
		t.Run(name, func(t *testing.T) {
			more := map[string]string{"hook.yaml": hooked(t, webhooks.Converting(t))}
			if name == "the settings cannot be read" {
				more["fresh/moult-test.yaml"] = "a: ["
			}
			g := inFolder(t, widgets(t, nil), more)
			got := moult.Run(t, append([]string{"test", "record", "fresh"}, c.args...)...)
			g.Expect(got.Code).To(Equal(c.code))
			g.Expect(got.ErrOut).To(ContainSubstring(c.want))
		})
	}
}
