package test

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/roundtrip"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

// widgets is a CRD of two versions, as a file.
func widgets(t *testing.T, change func(*apiextensionsv1.CustomResourceDefinition)) string {
	t.Helper()
	crd := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").Storage("v1").WithStatus().Build()
	crd.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
	if change != nil {
		change(crd)
	}
	raw, err := yaml.Marshal(crd)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(raw)
}

func hooked(t *testing.T, hook *webhooks.Conversion) string {
	t.Helper()
	return widgets(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
		url := hook.URL()
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: hook.CABundle()}}}
	})
}

const (
	v1alpha1 = "fixtures/release-1/example.com.v1alpha1.Widget.yaml"
	v1       = "fixtures/release-2/example.com.v1.Widget.yaml"
)

// inFolder has the CRD, and a fixture of each version.
func inFolder(t *testing.T, crd string, more map[string]string) *WithT {
	t.Helper()
	files := map[string]string{
		"crd.yaml": crd,
		v1alpha1:   "apiVersion: example.com/v1alpha1\nkind: Widget\nmetadata: {name: a}\nspec: {color: red, size: 3, payload: x}\nstatus: {phase: Ready}\n",
		v1:         "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: b}\nspec: {color: blue, size: 4, payload: z}\n",
	}
	for name, content := range more {
		files[name] = content
	}
	return clitest.InRepository(t, files)
}

// tested is the report of a command line, and its exit code.
func tested(t *testing.T, g *WithT, args ...string) (roundtrip.Report, int) {
	t.Helper()
	got := moult.Run(t, append([]string{"test", "conversion", "--crds", "crd.yaml", "-o", "json"}, args...)...)
	report := roundtrip.Report{}
	g.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed(), got.ErrOut)
	return report, got.Code
}

func TestWithConversionNoneOnlyTheSchemasLose(t *testing.T) {
	g := inFolder(t, widgets(t, nil), nil)
	report, code := tested(t, g, "fixtures")
	g.Expect(report.Verdict).To(Equal(conversion.Kept))
	g.Expect(code).To(Equal(0))
	g.Expect(report.CRDs).To(ConsistOf(And(HaveField("Fixtures", BeEquivalentTo(2)), HaveField("Served", []string{"v1alpha1", "v1"}))))

	g = inFolder(t, widgets(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
		delete(crd.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "payload")
	}), map[string]string{"accept.yaml": "- {crd: widgets.example.com, path: spec.payload, reason: nobody reads it}\n"})
	report, code = tested(t, g, "fixtures")
	g.Expect(code).To(Equal(cli.ExitNotDone))
	g.Expect(report.CRDs[0].Findings).To(ContainElement(And(HaveField("Kind", roundtrip.Lost), HaveField("What", "spec.payload"), HaveField("Examples", ConsistOf("release-1/example.com.v1alpha1.Widget.yaml")))))
	_, code = tested(t, g, "fixtures", "--accept", "accept.yaml")
	g.Expect(code).To(Equal(0))
}

func TestEachFaultOfAWebhookIsListedApart(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(*webhooks.Conversion)
		args   []string
		code   int
		kinds  []roundtrip.Kind
		faults []conversion.Fault
	}{
		"it is clean":                  {breaks: func(*webhooks.Conversion) {}},
		"it drops a field on the way":  {breaks: func(h *webhooks.Conversion) { h.Change(remove("v1", "spec", "payload")) }, code: cli.ExitNotDone, kinds: []roundtrip.Kind{roundtrip.Lost}},
		"it drops one on the way back": {breaks: func(h *webhooks.Conversion) { h.Change(remove("v1alpha1", "spec", "payload")) }, code: cli.ExitNotDone, kinds: []roundtrip.Kind{roundtrip.Lost}},
		"it drops the status":          {breaks: func(h *webhooks.Conversion) { h.Change(remove("v1", "status")) }, code: cli.ExitNotDone, kinds: []roundtrip.Kind{roundtrip.Status, roundtrip.StatusWrite}},
		"it changes a value": {breaks: func(h *webhooks.Conversion) {
			h.Change(func(o *unstructured.Unstructured, _, _ string) {
				_ = unstructured.SetNestedField(o.Object, "green", "spec", "color")
			})
		}, code: cli.ExitNotDone, kinds: []roundtrip.Kind{roundtrip.Changed}},
		"it answers garbage": {breaks: (*webhooks.Conversion).Garbage, code: cli.ExitNotDone, kinds: []roundtrip.Kind{roundtrip.NotConverted}, faults: []conversion.Fault{conversion.FaultAnswer}},
		"it fails on one":    {breaks: func(h *webhooks.Conversion) { h.RejectObject("a") }, code: cli.ExitNotDone, kinds: []roundtrip.Kind{roundtrip.NotConverted}, faults: []conversion.Fault{conversion.FaultFailed}},
		"it is late":         {breaks: func(h *webhooks.Conversion) { h.Slow(time.Minute) }, args: []string{"--webhook-timeout", "200ms"}, code: cli.ExitNotDone, kinds: []roundtrip.Kind{roundtrip.NotConverted}, faults: []conversion.Fault{conversion.FaultLate}},
		"it renames the object": {breaks: func(h *webhooks.Conversion) {
			h.Change(func(o *unstructured.Unstructured, _, _ string) { o.SetName("other") })
		}, code: cli.ExitNotDone, kinds: []roundtrip.Kind{roundtrip.NotConverted}, faults: []conversion.Fault{conversion.FaultMetadata}},
		"it answers in another order": {breaks: func(h *webhooks.Conversion) {
			h.Answer(func(r *apiextensionsv1.ConversionResponse) { slices.Reverse(r.ConvertedObjects) })
		}, code: cli.ExitNotDone, kinds: []roundtrip.Kind{roundtrip.NotConverted}, faults: []conversion.Fault{conversion.FaultOrder}},
		"it is not there": {breaks: func(h *webhooks.Conversion) { _ = h.Close() }, code: cli.ExitUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			hook := webhooks.Converting(t)
			g := inFolder(t, hooked(t, hook), map[string]string{
				"fixtures/release-2/example.com.v1alpha1.Widget.yaml": "apiVersion: example.com/v1alpha1\nkind: Widget\nmetadata: {name: c}\nspec: {color: red}\n"})
			c.breaks(hook)
			report, code := tested(t, g, append([]string{"fixtures", "--webhook", "crd"}, c.args...)...)
			g.Expect(code).To(Equal(c.code))
			var kinds []roundtrip.Kind
			var faults []conversion.Fault
			for _, f := range report.CRDs[0].Findings {
				if f.Fails() && !slices.Contains(kinds, f.Kind) {
					kinds = append(kinds, f.Kind)
				}
				if f.Fault != "" && !slices.Contains(faults, f.Fault) {
					faults = append(faults, f.Fault)
				}
			}
			g.Expect(kinds).To(Equal(c.kinds))
			g.Expect(faults).To(Equal(c.faults))
			g.Expect(len(report.CRDs[0].Unknown) > 0).To(Equal(c.code == cli.ExitUnknown || name == "it is late"), "%v", report.CRDs[0].Unknown)
		})
	}
}

func TestAWebhookThatIsStartedIsAsked(t *testing.T) {
	g := inFolder(t, hooked(t, webhooks.Converting(t)), nil)
	self, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	report, code := tested(t, g, "fixtures", "--webhook-command", program+"=v1 '"+self+"'")
	g.Expect(code).To(Equal(cli.ExitNotDone))
	g.Expect(report.CRDs[0].Findings).To(ConsistOf(And(HaveField("Kind", roundtrip.Lost), HaveField("What", "spec.payload"), HaveField("From", "v1alpha1"), HaveField("Was", "x")),
		And(HaveField("Kind", roundtrip.Lost), HaveField("From", "v1"))))
}

func TestWhatCannotBeTestedIsSaid(t *testing.T) {
	g := inFolder(t, widgets(t, nil), map[string]string{
		"fixtures/release-0/example.com.v1alpha0.Widget.yaml": "apiVersion: example.com/v1alpha0\nkind: Widget\nmetadata: {name: a}\n",
		"fixtures/release-0/example.com.v1.Gadget.yaml":       "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a}\n",
	})
	report, code := tested(t, g, "fixtures")
	g.Expect(code).To(Equal(cli.ExitUnknown))
	g.Expect(report.Unknown).To(ConsistOf(ContainSubstring("release-0/example.com.v1.Gadget.yaml: none of the CRDs is of example.com/v1, Gadget")))
	g.Expect(report.CRDs[0].Unknown).To(ContainElement(HaveField("What", ContainSubstring("the CRD has no version v1alpha0"))))
}

func TestMistakesAreErrorsOfOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"there is no folder":            {[]string{"--crds", "crd.yaml"}, "name the folder with the fixtures"},
		"it is not there":               {[]string{"nowhere", "--crds", "crd.yaml"}, "nowhere: there is no such file or folder"},
		"it is a file":                  {[]string{"crd.yaml", "--crds", "crd.yaml"}, "crd.yaml is a file"},
		"it holds no fixture":           {[]string{"empty", "--crds", "crd.yaml"}, "holds no fixture"},
		"a fixture is called wrong":     {[]string{"wrong", "--crds", "crd.yaml"}, "wrong: a/widget.yaml: its name does not say what it holds"},
		"there are no CRDs":             {[]string{"fixtures"}, "name the CRDs with --crds"},
		"a format that there is not":    {[]string{"fixtures", "--crds", "crd.yaml", "-o", "html"}, "-o html is none of"},
		"settings of another CRD":       {[]string{"other", "--crds", "crd.yaml"}, "moult-test.yaml: there is no gadgets.example.com in the CRDs"},
		"a webhook that does not start": {[]string{"fixtures", "--crds", "hook.yaml", "--webhook-command", "echo no certificate; exit 1"}, "it has ended before it listened"},
	} {
		t.Run(name, func(t *testing.T) {
			widget := "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n"
			g := inFolder(t, widgets(t, nil), map[string]string{
				"empty/README.md": "", "wrong/a/widget.yaml": widget, "hook.yaml": hooked(t, webhooks.Converting(t)),
				"other/a/example.com.v1.Widget.yaml": widget, "other/moult-test.yaml": "confirmations: [{crd: gadgets.example.com, path: spec.a}]\n"})
			got := moult.Run(t, append([]string{"test", "conversion"}, c.args...)...)
			g.Expect(got.Code).To(Equal(cli.ExitError))
			g.Expect(got.ErrOut).To(ContainSubstring(c.want))
			g.Expect(got.Out).To(BeEmpty())
		})
	}
}

func TestAllFormatsNameWhatIsLost(t *testing.T) {
	hook := webhooks.Converting(t)
	hook.Change(remove("v1", "spec", "payload"))
	g := inFolder(t, hooked(t, hook), map[string]string{"fixtures/moult-test.yaml": "confirmations: [{crd: widgets.example.com, path: spec.payload}]\n"})
	for _, format := range []string{"text", "markdown", "junit", "yaml"} {
		got := moult.Run(t, "test", "conversion", "fixtures", "--crds", "crd.yaml", "--webhook", "crd", "-o", format)
		g.Expect(got.Code).To(Equal(cli.ExitNotDone))
		g.Expect(got.Out).To(ContainSubstring("spec.payload"))
		if format != "yaml" {
			g.Expect(got.Out).To(ContainSubstring("a confirmation is lost or changed, v1alpha1 → v1 → v1alpha1"))
		}
		if format == "junit" {
			read := output.Suites{}
			g.Expect(xml.Unmarshal([]byte(got.Out), &read)).To(Succeed())
			g.Expect(read.Suites).To(ConsistOf(And(HaveField("Failures", 2), HaveField("Tests", 3))))
		}
	}
}

// The example's webhook is in Python: without one, it cannot be run.
func TestTheExampleLosesNothing(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("THERE IS NO python3, so the webhook of examples/conversion is not tested")
	}
	g := NewWithT(t)
	const example = "../../../examples/conversion/"
	args := []string{"test", "conversion", example + "fixtures", "--crds", example + "crds", "--webhook-command"}
	got := moult.Run(t, append(args, "exec python3 "+example+"webhook.py")...)
	g.Expect(got.Code).To(Equal(0), got.Out+got.ErrOut)
	got = moult.Run(t, append(slices.Clone(args), "exec python3 "+example+"webhook.py", "--fuzz", "100")...)
	g.Expect(got.Code).To(Equal(0), got.Out+got.ErrOut)
	got = moult.Run(t, append(args, `sed 's/{"confirm": spec.pop("confirmDeletion")}/{"confirm": ""}/' `+example+`webhook.py | exec python3 -`)...)
	g.Expect(got.Code).To(Equal(cli.ExitNotDone), got.Out+got.ErrOut)
	g.Expect(got.Out).To(ContainSubstring(`spec.deletion.confirm ("orders" became "")`))
}
