package doctor

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/doctor"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/test/running"
)

func TestTheDoctorReadsHelmsReleases(t *testing.T) {
	for name, c := range map[string]struct {
		annotation string // on the live CRD
		releases   func(w *world) []map[string]any
		id         doctor.ID
		severity   finding.Severity // empty: nothing is found
		evidence   string
	}{
		"the stored manifest keeps the CRD": {id: doctor.HelmKeep,
			releases: func(w *world) []map[string]any {
				return []map[string]any{revision(1, "deployed", w.manifest("helm.sh/resource-policy: keep"), nil)}
			}},
		"keep is only on the live CRD": {id: doctor.HelmKeep, annotation: "keep", severity: finding.Error,
			releases: func(w *world) []map[string]any {
				return []map[string]any{revision(1, "superseded", w.manifest("helm.sh/resource-policy: keep"), nil), revision(2, "deployed", w.manifest(""), nil)}
			}, evidence: "reads its stored manifest (revision 2) and would delete the CRD and all its objects"},
		"keep is nowhere": {id: doctor.HelmKeep, severity: finding.Warning,
			releases: func(w *world) []map[string]any {
				return []map[string]any{revision(1, "deployed", w.manifest(""), nil)}
			}, evidence: "its manifest does not say helm.sh/resource-policy: keep"},
		"the chart's folder crds, but Flux applies the CRD": {id: doctor.HelmCRDs,
			releases: func(w *world) []map[string]any {
				return []map[string]any{revision(1, "deployed", "", map[string]string{"crds/widgets.yaml": w.manifest("")})}
			}},
		"an older revision uses the old version": {id: doctor.HelmHistory, severity: finding.Warning,
			releases: func(w *world) []map[string]any {
				return []map[string]any{revision(1, "superseded", w.widget("v1alpha1"), nil), revision(2, "deployed", w.widget("v1"), nil)}
			}, evidence: "to revision 1 fails where v1alpha1 is not served"},
		"the deployed revision does": {id: doctor.HelmHistory, severity: finding.Warning,
			releases: func(w *world) []map[string]any {
				return []map[string]any{revision(1, "deployed", w.widget("v1alpha1"), nil)}
			}, evidence: "holds 1 Widget at v1alpha1 in its deployed revision 1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := healthy(t)
			if c.annotation != "" {
				w.Merges("kubectl-annotate", `{"metadata":{"annotations":{"helm.sh/resource-policy":"`+c.annotation+`"}}}`)
			}
			namespace := w.stores(c.releases(w)...)
			for _, args := range [][]string{{"--helm"}, {"--helm-namespace", namespace}} {
				r, code := w.check(c.id, args...)
				if c.severity == "" {
					w.Expect(r.Outcome).To(Equal(doctor.Passed), "%v", r.Findings)
					continue
				}
				w.Expect(r.Findings).To(ConsistOf(And(HaveField("Severity", c.severity), HaveField("Object", w.CRD.Name),
					HaveField("Why", And(ContainSubstring(c.evidence), ContainSubstring("release "+namespace+"/widgets"))))))
				w.Expect(code == cli.ExitNotDone).To(Equal(c.severity == finding.Error))
			}
			r, _ := w.check(c.id)
			w.Expect(r.Outcome).To(Equal(doctor.NotRun))
			w.Expect(r.Evidence).To(ContainSubstring("only with --helm"))
		})
	}
}

func TestTheDoctorNamesASecretThatIsNoRelease(t *testing.T) {
	w := healthy(t)
	namespace := w.stores(revision(1, "deployed", w.manifest("helm.sh/resource-policy: keep"), nil))
	w.secret(namespace, "sh.helm.release.v1.broken.v1", []byte("?"))
	r, code := w.check(doctor.HelmKeep, "--helm-namespace", namespace)
	w.Expect(code).To(Equal(cli.ExitDone))
	w.Expect(r.Outcome).To(Equal(doctor.Passed))
	w.Expect(r.NotSeen).To(ConsistOf(ContainSubstring("the release in Secret " + namespace + "/sh.helm.release.v1.broken.v1 cannot be read")))
}

func TestTheDoctorReadsTheReleasesThatItMay(t *testing.T) {
	w := healthy(t)
	mine, others := w.stores(revision(1, "deployed", w.manifest(""), nil)), w.Namespace()
	reader := w.KubeconfigAs(running.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "list"))
	w.allows(reader, mine, running.Rule("", "secrets", "list"))
	r, code := w.check(doctor.HelmKeep, "--helm-namespace", mine+","+others, "--kubeconfig", reader)
	w.Expect(code).To(Equal(cli.ExitDone))
	w.Expect(r.Findings).To(ConsistOf(HaveField("Why", ContainSubstring("release "+mine+"/widgets"))))
	w.Expect(r.NotSeen).To(ConsistOf(ContainSubstring("list on secrets in namespace " + others)))
}
