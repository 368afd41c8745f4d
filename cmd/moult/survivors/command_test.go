package survivors

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/test/running"
)

func TestNothingIsFoundWhereNothingNamesTheVersion(t *testing.T) {
	w := newWorld(t)
	w.creates(`{apiVersion: GROUP/v1alpha1, kind: Widget, metadata: {namespace: NAMESPACE, name: rose}}`)
	w.creates(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: NAMESPACE, name: soil, ownerReferences: [{apiVersion: GROUP/v1, kind: Widget, name: rose, uid: "1"}]}}`)
	got := w.Run("survivors", w.CRD.Name)
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.Out+got.ErrOut)
	w.Expect(got.ErrOut).To(BeEmpty())
	w.Expect(got.Out).To(HavePrefix(w.CRD.Name + ": v1alpha1 could leave (no VersionRemoval names a version, so all but the storage version)\n"))
	w.Expect(got.Out).To(ContainSubstring("left out         Secrets are read only with --secrets\n"))
	w.Expect(got.Out).To(ContainSubstring("\nlooked at        admission-policies, "))
	w.Expect(got.Out).To(HaveSuffix("\nnone: nothing that matters names the versions, in what was looked at; backups, Git and other clusters were not\n"))

	report, code := w.report("--secrets")
	w.Expect(code).To(Equal(cli.ExitDone))
	w.Expect(report.Verdict).To(Equal(survivors.NoneFound))
	w.Expect(report.NotLooked).To(BeEmpty())
	for _, p := range report.Places {
		w.Expect(p.Outcome).To(BeElementOf(survivors.LookedAt, survivors.NotThere), p.Place)
	}
	w.Expect(w.Run("survivors").Code).To(Equal(cli.ExitDone), "all that are opted in, which is this one")
}

const (
	owned = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: NAMESPACE, name: soil, ownerReferences: [{apiVersion: GROUP/v1alpha1, kind: Widget, name: rose, uid: "1"}]}}`
	pod   = `{apiVersion: v1, kind: Pod, metadata: {namespace: NAMESPACE, name: rose-0, ownerReferences: [{apiVersion: GROUP/v1alpha1, kind: Widget, name: rose, uid: "1", controller: true}]},
  spec: {automountServiceAccountToken: false, containers: [{name: rose, image: rose}]}}`
	webhook = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: GROUP},
  webhooks: [{name: rose.GROUP, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Ignore, clientConfig: {url: "https://127.0.0.1:1"},
    rules: [{apiGroups: [GROUP], apiVersions: [v1alpha1], resources: [widgets], operations: [CREATE]}]}]}`
	policy = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: GROUP},
  spec: {paramKind: {apiVersion: GROUP/v1alpha1, kind: Widget}, validations: [{expression: "true"}],
    matchConstraints: {resourceRules: [{apiGroups: [GROUP], apiVersions: [v1alpha1], resources: [widgets], operations: [CREATE]}]}}}`
	binding = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: GROUP},
  spec: {policyName: GROUP, validationActions: [Deny], matchResources: {resourceRules: [{apiGroups: [GROUP], apiVersions: [v1alpha1], resources: [widgets], operations: [CREATE]}]}}}`
	autoscaler = `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: NAMESPACE, name: rose},
  spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: GROUP/v1alpha1, kind: Widget, name: rose}}}`
)

// Each is found where it is, with its effect, by a person who may read everything.
func TestWhatNamesTheVersionIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		has    func(w *world)
		object string
		place  string
		path   string
		effect survivors.Effect
	}{
		"an owner reference":             {object: owned, place: "owner-references", path: "metadata.ownerReferences[0]", effect: survivors.LosesData},
		"a pod's controller":             {object: pod, place: "pod-disruption-budgets", path: "metadata.ownerReferences[0]", effect: survivors.BreaksAtUse},
		"a webhook's rule":               {object: webhook, place: "webhook-configurations", path: "webhooks[0].rules[0]", effect: survivors.StopsSilently},
		"a policy's rule":                {object: policy, place: "admission-policies", path: "spec.matchConstraints.resourceRules[0]", effect: survivors.StopsSilently},
		"a policy's parameters":          {object: policy, place: "admission-policy-params", path: "spec.paramKind", effect: survivors.BreaksAtUse},
		"the rule of a policy's binding": {object: binding, place: "admission-policies", path: "spec.matchResources.resourceRules[0]", effect: survivors.StopsSilently},
		"an autoscaler":                  {object: autoscaler, place: "autoscalers", path: "spec.scaleTargetRef", effect: survivors.Cosmetic},
		"an inventory of Flux": {has: func(w *world) { w.has("kustomize.toolkit.fluxcd.io", "kustomizations", "Kustomization", "v1") },
			object: `{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {namespace: NAMESPACE, name: garden},
  status: {inventory: {entries: [{id: garden_rose_GROUP_Widget, v: v1alpha1}]}}}`,
			place: "flux-kustomizations", path: "status.inventory.entries[0]", effect: survivors.StopsSilently},
		"a composite of Crossplane": {has: func(w *world) { w.has("xr."+w.GR.Group, "xgardens", "XGarden", "v1", "composite") },
			object: `{apiVersion: xr.GROUP/v1, kind: XGarden, metadata: {namespace: NAMESPACE, name: garden},
  spec: {crossplane: {resourceRefs: [{apiVersion: GROUP/v1alpha1, kind: Widget, name: rose}]}}}`,
			place: "crossplane-composites", path: "spec.crossplane.resourceRefs[0]", effect: survivors.BreaksAtRemoval},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if c.has != nil {
				c.has(w)
			}
			w.creates(c.object)
			report, code := w.report()
			w.Expect(at(report.Found, c.place)).To(ContainElement(And(HaveField("Path", c.path), HaveField("Effect", c.effect), HaveField("CRD", w.CRD.Name), HaveField("Version", "v1alpha1"))))
			if c.effect == survivors.Cosmetic {
				w.Expect(code).To(Equal(cli.ExitDone))
				return
			}
			w.Expect(code).To(Equal(cli.ExitNotDone))
			report, code = w.report("--version", "v1")
			w.Expect(at(report.Found, c.place)).To(BeEmpty(), "it does not name v1")
			w.Expect(code).To(Equal(cli.ExitDone))
		})
	}
}

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

func TestAnAPIServiceOfAPersonIsFound(t *testing.T) {
	w := newWorld(t)
	report, _ := w.report()
	w.Expect(at(report.Found, "api-services")).To(BeEmpty(), "those that the API server manages go with the version")
	server := running.Aggregated(t, cp, w.GR.WithVersion("v1alpha1"), w.CRD.Spec.Names.Kind)
	server.HandOver()
	t.Cleanup(func() { // it stays when its CRD goes, and other tests would meet it
		w.Expect(dynamic.NewForConfigOrDie(cp.Config).Resource(apiServices).Delete(context.Background(), server.APIService(), metav1.DeleteOptions{})).To(Succeed())
	})
	report, code := w.report()
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(at(report.Found, "api-services")).To(ConsistOf(HaveField("Object.Name", server.APIService())))
}

func TestStashedInstanceTypesAreFoundOrUnknown(t *testing.T) {
	w := newWorld(t)
	w.GR.Group = "instancetype.kubevirt.io"
	w.has("instancetype.kubevirt.io", "virtualmachineinstancetypes", "VirtualMachineInstancetype", "v1beta1")
	const revision = `{apiVersion: apps/v1, kind: ControllerRevision, revision: 0, metadata: {namespace: NAMESPACE, name: NAME,
  ownerReferences: [{apiVersion: kubevirt.io/v1, kind: VirtualMachine, name: vm, uid: "1"}]}, data: DATA}`
	creates := func(name, data string) {
		w.creates(strings.NewReplacer("NAME,", name+",", "DATA", data).Replace(revision))
	}
	look := func() survivors.Report {
		w.CRD.Name = "virtualmachineinstancetypes.instancetype.kubevirt.io"
		report, _ := w.report("--version", "v1alpha1")
		return report
	}
	creates("new", `{apiVersion: instancetype.kubevirt.io/v1beta1, kind: VirtualMachineInstancetype, spec: {}}`)
	creates("revision-start-vm-1-2", `{spec: {template: {}}}`)
	w.Expect(look().Verdict).To(Equal(survivors.NoneFound))
	creates("nameless", `{apiVersion: "", spec: eyJjcHUiOnsiZ3Vlc3QiOjZ9fQ==}`)
	report := look()
	w.Expect(report.Verdict).To(Equal(survivors.NotKnown))
	w.Expect(at(report.Unknown, "kubevirt-vm-revisions")).To(ConsistOf(And(HaveField("Object.Name", "nameless"), HaveField("Why", "the copy has no kind"))))
	creates("old", `{apiVersion: instancetype.kubevirt.io/v1alpha1, kind: VirtualMachineInstancetype, spec: {}}`)
	report = look()
	w.Expect(report.Verdict).To(Equal(survivors.StillNamed))
	w.Expect(at(report.Found, "kubevirt-vm-revisions")).To(ConsistOf(HaveField("Object.Name", "old")))
}

func TestSecretsAreReadOnlyOnDemand(t *testing.T) {
	w := newWorld(t)
	w.creates(`{apiVersion: v1, kind: Secret, type: helm.sh/release.v1, metadata: {namespace: NAMESPACE, name: sh.helm.release.v1.rose.v1, labels: {owner: helm, status: deployed}},
  data: {release: ` + packed(w, "---\napiVersion: v1\nkind: ConfigMap\n---\napiVersion: GROUP/v1alpha1\nkind: Widget\nmetadata: {name: rose}\n") + `}}`)
	report, code := w.report()
	w.Expect(code).To(Equal(cli.ExitDone))
	w.Expect(report.NotLooked).To(ConsistOf(And(HaveField("Resource", "secrets"), HaveField("LeftOut", true))))
	report, code = w.report("--secrets")
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(at(report.Found, "helm-releases")).To(ConsistOf(And(HaveField("Names", "Widget rose"), HaveField("Path", "data.release|base64|base64|gzip|json.manifest|yaml[1]"))))

	w.creates(`{apiVersion: v1, kind: Secret, metadata: {namespace: NAMESPACE, name: sh.helm.release.v1.rose.v2, labels: {owner: helm, status: deployed}}, data: {release: eA==}}`)
	report, _ = w.report("--secrets")
	w.Expect(at(report.Unknown, "helm-releases")).To(ConsistOf(HaveField("Object.Name", "sh.helm.release.v1.rose.v2")))
}

func TestWhatMayNotBeReadIsNotKnown(t *testing.T) {
	w := newWorld(t)
	reader := w.KubeconfigAs(w.EverythingBut("leases.coordination.k8s.io", "secrets")...)
	got := w.Run("survivors", w.CRD.Name, "--kubeconfig", reader)
	w.Expect(got.Code).To(Equal(cli.ExitUnknown), got.Out+got.ErrOut)
	w.Expect(got.Out).To(ContainSubstring("\nnot looked at    leases.coordination.k8s.io may not be read; it needs list on leases in coordination.k8s.io\n"))
	w.Expect(got.Out).To(ContainSubstring("\nin part          last-applied, owner-references\n"))
	w.Expect(got.Out).To(HaveSuffix("\nnot known: nothing that matters was found, and not all could be looked at\n"))

	w.creates(owned)
	w.Expect(w.Run("survivors", w.CRD.Name, "--kubeconfig", reader).Code).To(Equal(cli.ExitNotDone), "what is found is found")

	got = w.Run("survivors", w.CRD.Name, "--kubeconfig", w.KubeconfigAs())
	w.Expect(got.Code).To(Equal(cli.ExitError))
	w.Expect(got.Out).To(BeEmpty())
	w.Expect(got.ErrOut).To(ContainSubstring("reading CRDs needs get, list and watch on customresourcedefinitions"))
}

func TestAListThatMayBeReadAndItsObjectsMayNot(t *testing.T) {
	w := newWorld(t)
	w.creates(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: NAMESPACE, name: sh.helm.release.v1.rose.v1, labels: {owner: helm}}}`)
	rules := append(w.EverythingBut("configmaps", "secrets"), running.Rule("", "configmaps", "list"))
	got := w.Run("survivors", w.CRD.Name, "--kubeconfig", w.KubeconfigAs(rules...))
	w.Expect(got.Code).To(Equal(cli.ExitUnknown), got.Out+got.ErrOut)
	w.Expect(got.Out).To(ContainSubstring("\nnot looked at    1 of the objects of configmaps may not be read; it needs get on configmaps\n"))
}

func TestVersionRemovalsSayWhichVersionsLeave(t *testing.T) {
	w := newWorld(t)
	running.InstallGate(w.T, cp.Config)
	removal := &v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "no-v1"}, Spec: v1alpha1.VersionRemovalSpec{CRDName: w.CRD.Name, Versions: []string{"v1"}}}
	w.Expect(running.Client(w.T, cp.Config).Create(w.T.Context(), removal)).To(Succeed())
	report, _ := w.report()
	w.Expect(report.Targets).To(ConsistOf(And(HaveField("Leaving", []string{"v1"}), HaveField("From", survivors.Removals))))
	report, _ = w.report("--version", "v1alpha1,v0")
	w.Expect(report.Targets).To(ConsistOf(And(HaveField("Leaving", []string{"v1alpha1", "v0"}), HaveField("From", survivors.Asked))))

	reader := w.KubeconfigAs(running.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "list"))
	got := w.Run("survivors", w.CRD.Name, "--kubeconfig", reader)
	w.Expect(strings.Join(strings.Fields(got.Out), " ")).To(ContainSubstring("it needs list on versionremovals in moult.dev; so all versions but the storage version are looked for"))
}

func TestPlacesOfOnesOwn(t *testing.T) {
	w := newWorld(t)
	w.has("own."+w.GR.Group, "bindings", "Binding", "v1")
	w.creates(`{apiVersion: own.GROUP/v1, kind: Binding, metadata: {namespace: NAMESPACE, name: rose}, spec: {targets: [{apiVersion: GROUP/v1alpha1, kind: Widget, name: rose}]}}`)
	report, code := w.report("--everything")
	w.Expect(code).To(Equal(cli.ExitDone), "what is possible does not count")
	w.Expect(at(report.Possible, "")).To(ContainElement(HaveField("Path", "spec.targets[0].apiVersion")))

	folder := t.TempDir()
	place := `{name: bindings, title: bindings, resources: [bindings.own.` + w.GR.Group + `], fields: [{path: "spec.targets[*]", shape: apiVersion}], effect: breaksAtUse,
  consequence: it fails, clears: commit, remediation: write it anew, evidence: ["https://example.org"], tried: not tried}`
	w.Expect(os.WriteFile(filepath.Join(folder, "bindings.yaml"), []byte(place), 0o600)).To(Succeed())
	report, code = w.report("--places", folder)
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(at(report.Found, "bindings")).To(ConsistOf(HaveField("Names", "Widget rose")))

	w.Expect(os.WriteFile(filepath.Join(folder, "bindings.yaml"), []byte("name: bindings\n"), 0o600)).To(Succeed())
	got := w.Run("survivors", w.CRD.Name, "--places", folder)
	w.Expect(got.Code).To(Equal(cli.ExitError))
	w.Expect(got.ErrOut).To(ContainSubstring("bindings.yaml: "))
}

func TestTheReportIsReadByPeople(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c"} {
		w.creates(strings.Replace(owned, "soil", name, 1))
	}
	w.creates(webhook)
	got := w.Run("survivors", w.CRD.Name, "--limit", "2")
	w.Expect(got.Code).To(Equal(cli.ExitNotDone))
	w.Expect(got.Out).To(ContainSubstring(`
loses data  owner-references: ownerReferences
         3 fields name v1alpha1 of ` + w.CRD.Name + `
         configmaps ` + w.namespace + `/a  metadata.ownerReferences[0]  Widget rose
         configmaps ` + w.namespace + `/b  metadata.ownerReferences[0]  Widget rose
         and 1 more; --limit 0 names all
         what happens: The garbage collector takes an owner`))
	w.Expect(got.Out).To(ContainSubstring("\n         fix (Moult): Run `moult repair owners`, before the version stops being served,"))
	w.Expect(strings.Index(got.Out, "\nstops silently  webhook-configurations")).To(BeNumerically(">", strings.Index(got.Out, "\nloses data")))
	w.Expect(got.Out).To(HaveSuffix("\nfound: 4 fields that matter; backups, Git and other clusters were not looked at\n"))
}

func TestWhoInterruptsGetsNoAnswer(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := w.RunContext(ctx, "survivors", w.CRD.Name)
	w.Expect(got.Code).To(Equal(cli.ExitInterrupted))
	w.Expect(got.Out).To(BeEmpty())
	w.Expect(got.ErrOut).To(Equal("moult: interrupted\n"))
}

func TestWhatIsNoQuestionHasNoAnswer(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no such CRD":              {[]string{"nothing.example.com"}, "no such CRD: nothing.example.com"},
		"a version of what":        {[]string{"--version", "v1"}, "--version is about CRDs that are named"},
		"a limit below 0":          {[]string{"--limit", "-1"}, "--limit -1 is below 0"},
		"a format that there not":  {[]string{"-o", "xml"}, "-o xml is none of json, yaml"},
		"a flag that there is not": {[]string{"--secret"}, "unknown flag: --secret; see moult survivors --help"},
		"no folder of places":      {[]string{"--places", "/nowhere"}, "--places /nowhere: "},
		"no CRD is opted in":       {[]string{"--label-key", "example.com/nobody"}, "no CRD carries the label example.com/nobody=true; name the CRDs to look for"},
	} {
		t.Run(name, func(*testing.T) {
			got := w.Run(append([]string{"survivors"}, c.args...)...)
			w.Expect(got.Code).To(Equal(cli.ExitError), got.Out+got.ErrOut)
			w.Expect(got.ErrOut).To(ContainSubstring(c.says))
			w.Expect(got.Out).To(BeEmpty())
		})
	}
}
