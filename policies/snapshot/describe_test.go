package snapshot

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
)

const (
	ownsLabel     = `{"f:metadata":{"f:labels":{"f:moult.dev/migrate":{}}},"f:spec":{"f:versions":{}}}`
	ownsLabels    = `{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}},"f:labels":{".":{},"f:moult.dev/migrate":{}}}}`
	ownsApplied   = `{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`
	ownsCondition = `{"f:status":{"f:conditions":{"k:{\"type\":\"StorageMigrated\"}":{".":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`
	ownsNothing   = `{"f:spec":{"f:versions":{}}}`
)

func entry(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string, at time.Time) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields), Time: &metav1.Time{Time: at}}
}

// live is a CRD as the API server has it.
func live(labels, annotations map[string]string, entries ...metav1.ManagedFieldsEntry) *apiextensionsv1.CustomResourceDefinition {
	c := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
		Name: widgets, UID: "u", Generation: 3, Labels: maps.Clone(labels), Annotations: annotations, ManagedFields: entries,
	}}
	c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	c.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{
		{Name: "v1alpha1", Served: true, Deprecated: true, Schema: &apiextensionsv1.CustomResourceValidation{}}, {Name: "v1", Served: true, Storage: true},
	}
	c.Status.StoredVersions = []string{"v1"}
	return c
}

var labelled = map[string]string{v1alpha1.MigrateLabel: "true"}

// Who owns the label is judged by the same rules from the file as from the live CRD.
func TestTheLabelsOwnerSurvivesTheFile(t *testing.T) {
	flux := map[string]string{v1alpha1.MigrateLabel: "true", "kustomize.toolkit.fluxcd.io/name": "crds", "kustomize.toolkit.fluxcd.io/namespace": "flux-system", "team": "widgets"}
	applied := map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"metadata":{"labels":{"moult.dev/migrate":"true"}},"spec":{"group":"example.com"}}`, "note": "private"}
	for name, c := range map[string]*apiextensionsv1.CustomResourceDefinition{
		"no label":        live(nil, applied, entry("argocd-controller", "Update", "", ownsNothing, taken)),
		"Flux applies it": live(flux, nil, entry("kustomize-controller", "Apply", "", ownsLabel, taken)),
		"kubectl labelled it, and Flux takes it off":    live(flux, nil, entry("kustomize-controller", "Apply", "", ownsNothing, taken), entry("kubectl-label", "Update", "", ownsLabel, taken)),
		"Flux is told to leave it":                      live(flux, map[string]string{"kustomize.toolkit.fluxcd.io/ssa": "Merge"}, entry("kustomize-controller", "Apply", "", ownsNothing, taken), entry("kubectl-label", "Update", "", ownsLabel, taken)),
		"Argo CD applied it last":                       live(labelled, applied, entry("argocd-controller", "Update", "", ownsLabels, taken)),
		"Argo CD has it in Git now, and left its owner": live(labelled, applied, entry("argocd-controller", "Update", "", ownsApplied, taken), entry("k9s", "Update", "", ownsLabel, taken)),
		"Argo CD is going to drop it":                   live(labelled, applied, entry("argocd-controller", "Update", "", ownsNothing, taken), entry("kubectl-client-side-apply", "Update", "", ownsLabels, taken)),
		"it outlived a replace":                         live(labelled, nil, entry("argocd-application-controller", "Update", "", ownsNothing, taken), entry("k9s", "Update", "", ownsLabel, taken.Add(-time.Hour))),
		"an Application is named":                       live(labelled, map[string]string{"argocd.argoproj.io/tracking-id": "crds:x:y", "argocd.argoproj.io/sync-options": "Replace=true"}, entry("k9s", "Update", "", ownsLabel, taken)),
		"Helm has installed it":                         live(labelled, map[string]string{"meta.helm.sh/release-name": "widgets", "meta.helm.sh/release-namespace": "ns"}, entry("helm", "Update", "", ownsNothing, taken), entry("kubectl-label", "Update", "", ownsLabel, taken)),
		"a script set it":                               live(labelled, nil, entry("script", "Update", "", ownsLabel, taken)),
		"nobody owns it":                                live(labelled, nil),
	} {
		t.Run(name, func(t *testing.T) {
			g, s := NewWithT(t), safe()
			s.CRDs[0] = s.DescribeCRD(c)
			content, err := s.Write()
			g.Expect(err).NotTo(HaveOccurred())
			for _, private := range []string{"private", "team", "example.com\\\"", "f:spec"} {
				g.Expect(string(content)).NotTo(ContainSubstring(private))
			}
			read, err := Read(content)
			g.Expect(err).NotTo(HaveOccurred())
			was := labelorigin.Of(c, s.LabelKey)
			is := labelorigin.Of(read.CRDs[0].metadata(s.LabelKey), s.LabelKey)
			if was.Origin == labelorigin.None { // then the tool is of no consequence
				g.Expect(is.Origin).To(Equal(labelorigin.None))
				return
			}
			g.Expect(is).To(Equal(was))
		})
	}
}

func TestWhatIsKeptOfACRD(t *testing.T) {
	g, s := NewWithT(t), safe()
	annotations := map[string]string{v1alpha1.PausedAnnotation: "true", v1alpha1.RepairOwnersAnnotation: "true", v1alpha1.MigrateStashesAnnotation: "true"}
	c := live(labelled, annotations, entry(v1alpha1.FieldManager, "Apply", "status", ownsCondition, taken))
	c.DeletionTimestamp = &metav1.Time{Time: taken}
	c.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: "Established", Status: "True"}, {Type: "SomebodyElses", Status: "True", Message: "private"},
		{Type: v1alpha1.StorageMigrated, Status: "False", Reason: v1alpha1.ReasonObjectsFailed, Message: "generation 3: 7 of 7 objects, 1 failed and tried again with growing pauses: ns/o: Invalid: spec.password: Invalid value: \"hunter2\""},
	}
	want := CRD{
		Name: widgets, UID: "u", Generation: 3, Deleting: true, OptedIn: true, Paused: true, RepairsOwners: true, MigratesStashes: true, Conversion: "None", StoredVersions: []string{"v1"},
		Versions: []Version{{Name: "v1alpha1", Served: true, Deprecated: true}, {Name: "v1", Served: true, Storage: true}},
		Conditions: []Condition{
			{Type: "Established", Status: "True"},
			{Type: v1alpha1.StorageMigrated, Status: "False", Reason: v1alpha1.ReasonObjectsFailed, Ours: true, Message: "generation 3: 7 of 7 objects, 1 failed and tried again with growing pauses"},
		},
		Backup: &crds.LastBackup{},
		Label:  &Label{Labels: labelled, Annotations: map[string]string{}},
	}
	g.Expect(s.DescribeCRD(c)).To(Equal(want))

	c.Labels[v1alpha1.MigrateLabel] = "false"
	g.Expect(s.DescribeCRD(c)).To(And(HaveField("OptedIn", false), HaveField("Label", BeNil())))
	for name, e := range map[string]metav1.ManagedFieldsEntry{
		"another manager":      entry("another", "Apply", "status", ownsCondition, taken),
		"the main resource":    entry(v1alpha1.FieldManager, "Apply", "", ownsCondition, taken),
		"another's text":       entry(v1alpha1.FieldManager, "Apply", "status", strings.Replace(ownsCondition, `"f:message":{},`, "", 1), taken),
		"another field":        entry(v1alpha1.FieldManager, "Apply", "status", `{"f:status":{"f:storedVersions":{}}}`, taken),
		"another installation": entry("moult:example.com/migrate", "Apply", "status", ownsCondition, taken),
	} {
		c.ManagedFields = []metav1.ManagedFieldsEntry{e}
		g.Expect(s.DescribeCRD(c).Conditions[1].Ours).To(BeFalse(), name)
	}
}

// The file holds nothing of what an object holds, and no person's name, however the API server words a refusal.
func TestWhatTheServerSaidOfAnObjectIsNotKept(t *testing.T) {
	for name, c := range map[string]struct{ reason, message, want string }{
		"what is Moult's own is kept": {v1alpha1.ReasonMigrated, "generation 3: every object is proved to be stored at v1: 7 of 7 objects, 0 failed", "generation 3: every object is proved to be stored at v1: 7 of 7 objects, 0 failed"},
		"the API server's refusal of an object": {v1alpha1.ReasonObjectsFailed, `generation 3: 7 of 7 objects, 1 failed and tried again with growing pauses: ns/o: Invalid: "hunter2"`,
			"generation 3: 7 of 7 objects, 1 failed and tried again with growing pauses"},
		"a user's name": {v1alpha1.ReasonForbidden, `generation 3: a permission is missing; add this rule to a ClusterRole bound to Moult: {apiGroups: ["e"]}; the API server said: User "alice" cannot`,
			`generation 3: a permission is missing; add this rule to a ClusterRole bound to Moult: {apiGroups: ["e"]}`},
		"a policy's words": {v1alpha1.ReasonForbidden, "generation 3: the status of the CRD may not be written; let Moult pass: denied request: hunter2",
			"generation 3: the status of the CRD may not be written; let Moult pass"},
		"a webhook's words": {v1alpha1.ReasonConversionUnavailable, "generation 3: the conversion webhook (service a/b) cannot be used; fix it: failed: hunter2",
			"generation 3: the conversion webhook (service a/b) cannot be used; fix it"},
		"a gate's, which begins otherwise": {v1alpha1.ReasonObjectsFailed, widgets + ": 7 of 7 objects, 1 failed and tried again: ns/o: Invalid: hunter2", widgets + ": 7 of 7 objects, 1 failed and tried again"},
		"a reason of a later Moult":        {"LaterReason", "generation 3: something: hunter2", "generation 3: something"},
		"a message in another form":        {"LaterReason", "something: hunter2", "something"},
		"no message":                       {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			opening := ""
			if name[0] == 'a' && c.message[0] == 'w' {
				opening = widgets + ": "
			}
			NewWithT(t).Expect(safe().discreet(opening, c.reason, c.message)).To(Equal(c.want))
		})
	}
}

func TestWhatIsKeptOfAVersionRemoval(t *testing.T) {
	g, s := NewWithT(t), safe()
	removal := &v1alpha1.VersionRemoval{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gate", Generation: 2, Annotations: map[string]string{v1alpha1.PausedAnnotation: "true"}, Labels: map[string]string{"a": "private"}},
		Spec:       v1alpha1.VersionRemovalSpec{CRDName: widgets, Versions: []string{"v1alpha1"}, Require: []v1alpha1.Requirement{v1alpha1.Quiet}},
		Status: v1alpha1.VersionRemovalStatus{
			ObservedGeneration: 2, Proof: &v1alpha1.ProofStatus{UID: "u", Generation: 3, StorageVersion: "v1"}, LastWriteAt: &metav1.Time{Time: taken},
			Conditions: []metav1.Condition{{Type: "Stalled", Status: "True"}, {Type: "Ready", Status: "False", Reason: v1alpha1.ReasonObjectsFailed, Message: widgets + ": 1 failed and tried again: ns/o: Invalid: hunter2"}},
			Blockers:   []v1alpha1.Blocker{{Kind: v1alpha1.ReasonObjectsFailed, Message: "ns/o: Invalid: hunter2"}, {Kind: "Another", Message: "a: b: hunter2"}},
		},
	}
	want := Removal{
		Namespace: "ns", Name: "gate", Generation: 2, ObservedGeneration: 2, Paused: true, Spec: removal.Spec, Proof: removal.Status.Proof, LastWriteAt: &taken,
		Ready:    &Condition{Type: "Ready", Status: "False", Reason: v1alpha1.ReasonObjectsFailed, Message: widgets + ": 1 failed and tried again"},
		Failures: []string{"ns/o: Invalid"},
	}
	g.Expect(s.DescribeRemoval(removal)).To(Equal(want))
	s.NamesLeftOut, want.Failures = true, nil
	g.Expect(s.DescribeRemoval(removal)).To(Equal(want))
	raw, err := json.Marshal(s.DescribeRemoval(&v1alpha1.VersionRemoval{Status: v1alpha1.VersionRemovalStatus{ObservedGeneration: -1}}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(raw).To(ContainSubstring(`"observedGeneration":-1`))
}
