package doctor

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/lua"
	"github.com/moult-dev/moult/policies/doctor"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// healthy is a CRD that Flux applies with the label, and that is migrated.
func healthy(t *testing.T) *world {
	t.Helper()
	group := builders.UniqueGroup(t)
	w := &world{suite.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1"))}
	w.applies("kustomize-controller", map[string]string{
		w.Label: "true", "kustomize.toolkit.fluxcd.io/name": "crds", "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
	})
	w.Says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "every object is proved to be stored at v1", 0)
	return w
}

// applies is a server-side apply of labels.
func (w *world) applies(manager string, labels map[string]string) {
	w.T.Helper()
	body, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": w.CRD.Name, "labels": labels},
	})
	w.Expect(err).NotTo(HaveOccurred())
	force := true
	_, err = w.CRDs().Patch(w.T.Context(), w.CRD.Name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: manager, Force: &force})
	w.Expect(err).NotTo(HaveOccurred())
}

// check is the result of one check, by -o json.
func (w *world) check(id doctor.ID, args ...string) (doctor.Result, int) {
	w.T.Helper()
	got := w.Run(append([]string{"doctor", w.CRD.Name, "-o", "json"}, args...)...)
	report := doctor.Report{}
	w.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed(), got.Out+got.ErrOut)
	for _, r := range report.Checks {
		if r.ID == id {
			return r, got.Code
		}
	}
	w.T.Fatalf("no check %s in %s", id, got.Out)
	return doctor.Result{}, 0
}

func TestTheDoctorHasALineForEachCheckOfAHealthyCRD(t *testing.T) {
	w := healthy(t)
	got := without(aside, w.Run("doctor", w.CRD.Name, "--helm"))
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(got.ErrOut).To(BeEmpty())
	lines := strings.Split(strings.TrimSpace(got.Out), "\n")
	w.Expect(lines[0]).To(Equal("ok       label-in-git     the label is in what is applied by Flux (Kustomization flux-system/crds)"))
	w.Expect(lines[1]).To(Equal("ok       migration        1 CRD migrated, 0 CRDs on the way, and no person has to act"))
	w.Expect(lines[2]).To(Equal("ok       aggregation      no APIService hands the requests for the CRDs on to another API server"))
	w.Expect(lines[3]).To(Equal("ok       status-writes    no refused write has been recorded"))
	w.Expect(lines).To(HaveLen(16))
	w.Expect(lines[14]).To(Equal("not seen status-writes    there is no ServiceAccount moult-system/moult-controller; if the controller runs as another user, name it with --controller"))
	w.Expect(lines[15]).To(HavePrefix("not run  argocd-health    there is no ConfigMap argocd-cm in namespace argocd"))
	w.Expect(w.Run("doctor").Code).To(Equal(cli.ExitDone), "all that are opted in, which is this one")
}

func TestTheDoctorPrintsProblemsFirst(t *testing.T) {
	w := healthy(t)
	w.Merges("kubectl-edit", `{"metadata":{"labels":{"`+w.Label+`":null}}}`)
	w.Merges("kubectl-label", `{"metadata":{"labels":{"`+w.Label+`":"true"}}}`)
	got := without(aside, w.Run("doctor", w.CRD.Name))
	w.Expect(got.Code).To(Equal(cli.ExitNotDone))
	w.Expect(got.ErrOut).To(Equal("moult: 1 error; what was seen and how to fix it is above\n"))
	w.Expect(got.Out).To(HavePrefix("error    label-in-git  " + w.CRD.Name + "\n         the label " + w.Label))
	w.Expect(strings.Join(strings.Fields(got.Out), " ")).To(ContainSubstring(w.Label +
		` is only on the live object: field manager "kubectl-label" (Update) set it, and Flux undoes what kubectl has set and Git lacks, so the next reconcile of Kustomization flux-system/crds takes it off`))
	w.Expect(got.Out).To(MatchRegexp(`\n         fix: put the label into the CRD's manifest in Git[^\n]*(\n         [^\n]*)*\n\nok       migration`))

	status := w.Run("status", w.CRD.Name)
	w.Expect(status.Code).To(Equal(cli.ExitDone))
	w.Expect(status.Out).To(HaveSuffix("unless Git makes it leave the CRD alone (kustomize.toolkit.fluxcd.io/ssa: Ignore)\n"))
	w.Expect(status.Out).To(ContainSubstring("\nwarning: " + w.CRD.Name + ": the label " + w.Label + " is only on the live object"))
	w.Expect(w.Run("status", w.CRD.Name, "-o", "json").Out).To(ContainSubstring(`"warnings": [`))
}

func TestTheDoctorNeedsNoMoreThanToReadCRDs(t *testing.T) {
	w := healthy(t)
	w.gate()
	reader := w.KubeconfigAs(running.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "list"))
	got := without(aside, w.Run("doctor", w.CRD.Name, "--helm", "--kubeconfig", reader))
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(got.Out).To(HavePrefix("ok       label-in-git"))
	for _, line := range []string{
		"not run  status-writes    Events on CRDs may not be read; it needs list on events in namespace default; ServiceAccount moult-system/moult-controller may not be read; " +
			"it needs get on serviceaccounts in namespace moult-system, or the controller's user with --controller\n",
		"not run  gates            VersionRemovals may not be read; it needs list on versionremovals in moult.dev\n",
		"not run  argocd-health    ConfigMap argocd-cm may not be read; it needs get on configmaps in namespace argocd\n",
		"not run  aggregation      the APIServices of " + w.CRD.Name + " may not be read; it needs get on apiservices in apiregistration.k8s.io\n",
		"not run  namespaces       Namespaces may not be read; it needs list on namespaces\n",
		"not run  unreadable       the objects of " + w.CRD.Name + " may not be read; it needs list on widgets in " + w.GR.Group + "\n",
		"not run  stuck-objects    the objects of " + w.CRD.Name + " may not be read; it needs list on widgets in " + w.GR.Group + "\n",
		"not run  helm-keep        the Secrets of Helm's releases may not be read; it needs list on secrets in all namespaces; --helm-namespace asks for less\n",
	} {
		w.Expect(got.Out).To(ContainSubstring(line))
	}
	got = w.Run("doctor", w.CRD.Name, "--helm-namespace", "apps", "--kubeconfig", reader)
	w.Expect(got.Out).To(ContainSubstring("list on secrets in namespace apps"))

	w.Expect(got.Out).To(ContainSubstring("not run  helm-keep"))
	w.Expect(w.Run("doctor", w.CRD.Name, "--kubeconfig", reader, "--fail-on", "unknown").Code).To(Equal(cli.ExitUnknown))

	got = w.Run("doctor", w.CRD.Name, "--kubeconfig", w.KubeconfigAs())
	w.Expect(got.Code).To(Equal(cli.ExitError))
	w.Expect(got.ErrOut).To(ContainSubstring("reading CRDs needs get, list and watch on customresourcedefinitions"))
}

func TestTheDoctorSeesWhatCannotDie(t *testing.T) {
	w := healthy(t)
	w.Expect(builders.CreateObjects(w.T.Context(), cp.Config, w.GR.WithVersion("v1"), "default", 3, builders.Each(func(o *unstructured.Unstructured) {
		if o.GetName() != "object-00001" {
			o.SetFinalizers([]string{"example.com/door"})
		}
	}))).To(Succeed())
	objects := dynamic.NewForConfigOrDie(cp.Config).Resource(w.GR.WithVersion("v1")).Namespace("default")
	w.Expect(objects.Delete(w.T.Context(), "object-00000", metav1.DeleteOptions{})).To(Succeed())
	cluster, err := inspect.Connect(cp.Config)
	w.Expect(err).NotTo(HaveOccurred())
	state, err := cluster.Examine(w.T.Context(), inspect.Examination{CRDs: []string{w.CRD.Name}})
	w.Expect(err).NotTo(HaveOccurred())
	known := state.CRDs[0].Terminating
	w.Expect(known.Not).To(BeEmpty())
	w.Expect(known.Value).To(ConsistOf(And(HaveField("Name", "default/object-00000"), HaveField("Finalizers", []string{"example.com/door"}),
		HaveField("Since", BeTemporally("~", time.Now(), time.Minute)))))
	r, _ := w.check(doctor.StuckObjects)
	w.Expect(r.Outcome).To(Equal(doctor.Passed), "not stuck yet")
}

func TestTheDoctorSeesObjectsWithoutANamespace(t *testing.T) {
	w := healthy(t)
	gone := w.Namespace()
	for _, namespace := range []string{"default", gone} {
		w.Expect(builders.CreateObjects(w.T.Context(), cp.Config, w.GR.WithVersion("v1"), namespace, 2)).To(Succeed())
	}
	r, _ := w.check(doctor.Namespaces)
	w.Expect(r.Outcome).To(Equal(doctor.Passed))

	namespaces := kubernetes.NewForConfigOrDie(cp.Config).CoreV1().Namespaces()
	w.Expect(namespaces.Delete(w.T.Context(), gone, metav1.DeleteOptions{})).To(Succeed())
	_, err := namespaces.Finalize(w.T.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: gone}}, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	r, code := w.check(doctor.Namespaces)
	w.Expect(r.Findings).To(ConsistOf(HaveField("Why", "2 objects in Namespaces that do not exist, so that no client can write them: "+gone+" (2)")))
	w.Expect(code).To(Equal(cli.ExitNotDone))
}

func TestTheDoctorSeesOtherMigrators(t *testing.T) {
	for _, group := range []string{doctor.KSVM, doctor.InTree} {
		t.Run(group, func(t *testing.T) {
			w := healthy(t)
			w.tells(group, "ended", w.GR.Group, "Succeeded")
			w.tells(group, "another", "gadgets.example.com", "Running")
			r, _ := w.check(doctor.OtherMigrators)
			w.Expect(r.Findings).To(BeEmpty())
			w.tells(group, "under-way", w.GR.Group, "Running")
			r, code := w.check(doctor.OtherMigrators)
			w.Expect(r.Findings).To(ConsistOf(And(HaveField("Severity", finding.Warning), HaveField("Why", MatchRegexp("StorageVersionMigration under-way-.* ."+group+". has not ended")))))
			w.Expect(code).To(Equal(cli.ExitDone))
		})
	}
}

func TestTheDoctorSeesASecondMoult(t *testing.T) {
	w := healthy(t)
	w.Merges("kubectl-label", `{"metadata":{"labels":{"another.example.com/migrate":"true"}}}`)
	opts := running.Quick(w.GR.Group)
	opts.LabelKey = "another.example.com/migrate"
	defer running.Migration(t, cp.Config, opts)()
	w.Eventually(func() []finding.Finding {
		r, _ := w.check(doctor.OtherMigrators)
		return r.Findings
	}, running.Soon, "200ms").Should(ConsistOf(And(HaveField("Severity", finding.Error), HaveField("Why", ContainSubstring("another Moult, whose label is another.example.com/migrate")))))
}

func TestTheDoctorAsksTheGatesAndArgoCD(t *testing.T) {
	w := healthy(t)
	w.gate()
	r, code := w.check(doctor.Gates)
	w.Expect(r.Findings).To(ConsistOf(And(HaveField("Severity", finding.Warning), HaveField("Why", "no controller has answered it"))))
	w.Expect(code).To(Equal(cli.ExitDone))

	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace(), Name: lua.ConfigMap}}
	client := kubernetes.NewForConfigOrDie(cp.Config).CoreV1().ConfigMaps(config.Namespace)
	_, err := client.Create(w.T.Context(), config, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	r, code = w.check(doctor.ArgoCDHealth, "--argocd-namespace", config.Namespace)
	w.Expect(r.Findings).To(ConsistOf(And(HaveField("Severity", finding.Error), HaveField("Why", HavePrefix(lua.GateHealthKey+" is missing")))))
	w.Expect(code).To(Equal(cli.ExitNotDone), "a gate is there that holds nothing back")
	config.Data = lua.ArgoCDConfig()
	_, err = client.Update(w.T.Context(), config, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	r, _ = w.check(doctor.ArgoCDHealth, "--argocd-namespace", config.Namespace)
	w.Expect(r.Outcome).To(Equal(doctor.Passed))
}

func TestTheDoctorSaysWhatToDoNext(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
		code int
	}{
		"no CRD is opted in":     {[]string{"doctor"}, "1 error", cli.ExitNotDone},
		"the CRD does not exist": {[]string{"doctor", "widgets"}, "no such CRD: widgets", cli.ExitError},
		"the output is unknown":  {[]string{"doctor", "-o", "xml"}, "-o xml is none of json, yaml", cli.ExitError},
		"the result is unknown":  {[]string{"doctor", "--fail-on", "blocked"}, "--fail-on blocked is none of error, unknown, warning", cli.ExitError},
	} {
		t.Run(name, func(t *testing.T) {
			w := suite.Empty(t)
			got := w.Run(c.args...)
			w.Expect(got.ErrOut).To(ContainSubstring(c.want))
			w.Expect(got.Code).To(Equal(c.code))
		})
	}
	w := healthy(t)
	got := w.Run("doctor", w.CRD.Name, "widgets", "-o", "json")
	w.Expect(got.Out).To(HavePrefix("{\n  \"ok\": false,"), "it vouches for nothing")
	w.Expect(got.Code).To(Equal(cli.ExitError))
	ctx, interrupt := context.WithCancel(w.T.Context())
	interrupt()
	w.Expect(w.RunContext(ctx, "doctor").Code).To(Equal(cli.ExitInterrupted))
}
