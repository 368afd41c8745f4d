package admission

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// kept is a CRD whose manifest belongs to somebody who does not know the label.
type kept struct {
	*WithT
	t    *testing.T
	crds apiextensions.CustomResourceDefinitionInterface
	// bare is the manifest.
	bare *crd
}

type deed = func(k *kept)

// put replaces the CRD by what the manifest says, as Argo CD does with Replace=true.
func put(k *kept) {
	k.Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live := k.live()
		live.Labels, live.Annotations = nil, k.bare.Annotations
		_, err := k.crds.Update(k.t.Context(), live, metav1.UpdateOptions{FieldManager: "argocd-controller"})
		return err
	})).To(Succeed())
}

// putAllowed does the same with a manifest that has come to allow it.
func putAllowed(k *kept) {
	annotate("moult.dev/allow-opt-out", k.bare.Name)(k.bare)
	put(k)
}

// allowOptOut annotates the live CRD and not the manifest.
func allowOptOut(k *kept) {
	k.patch(types.MergePatchType, `{"metadata":{"annotations":{"moult.dev/allow-opt-out":"`+k.bare.Name+`"}}}`, "kubectl-annotate")
}

func both(first, second deed) deed {
	return func(k *kept) {
		first(k)
		second(k)
	}
}

// putStatus does the same through the status.
func putStatus(k *kept) {
	k.Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live := k.live()
		live.Labels = nil
		_, err := k.crds.UpdateStatus(k.t.Context(), live, metav1.UpdateOptions{FieldManager: "operator"})
		return err
	})).To(Succeed())
}

// apply applies the manifest server-side, with the label at a value or without it.
func apply(manager, value string) deed {
	return func(k *kept) {
		manifest := k.bare.DeepCopy()
		manifest.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
		if value != "" {
			label(value)(manifest)
		}
		raw, err := json.Marshal(manifest)
		k.Expect(err).NotTo(HaveOccurred())
		k.patch(types.ApplyPatchType, string(raw), manager)
	}
}

// merge sends a merge patch of the label, as kubectl label and client-side apply do.
func merge(manager, value string) deed {
	return func(k *kept) {
		k.patch(types.MergePatchType, `{"metadata":{"labels":{"`+v1alpha1.MigrateLabel+`":`+value+`}}}`, manager)
	}
}

func (k *kept) patch(kind types.PatchType, body, manager string) {
	k.t.Helper()
	_, err := k.crds.Patch(k.t.Context(), k.bare.Name, kind, []byte(body), metav1.PatchOptions{FieldManager: manager})
	k.Expect(err).NotTo(HaveOccurred(), "there are no conflicts over the label")
}

func (k *kept) live() *crd {
	k.t.Helper()
	live, err := k.crds.Get(k.t.Context(), k.bare.Name, metav1.GetOptions{})
	k.Expect(err).NotTo(HaveOccurred())
	return live
}

// owners are the field managers of the label.
func (k *kept) owners() (owners []string) {
	for _, entry := range k.live().ManagedFields {
		if strings.Contains(entry.FieldsV1.GetRawString(), `"f:`+v1alpha1.MigrateLabel+`"`) {
			owners = append(owners, entry.Manager)
		}
	}
	return owners
}

func TestALostLabelIsPutBack(t *testing.T) {
	t.Parallel()
	if !keepsLabel(t) {
		return
	}
	for name, c := range map[string]struct {
		set    deed   // how the label comes to the CRD
		lose   deed   // the write under test
		value  string // what the label is afterwards
		owners []string
		// allow is an annotation of the manifest, the name of the CRD behind it.
		allow string
	}{
		"a replacement without it":                  {set: merge("kubectl-label", `"true"`), lose: put, value: "true"},
		"the manager that applied it leaves it out": {set: apply("kustomize-controller", "true"), lose: apply("kustomize-controller", ""), value: "true"},
		"a client-side apply takes it away":         {set: merge("helm", `"true"`), lose: merge("helm", `null`), value: "true"},
		"a write to the status drops it":            {set: merge("kubectl-label", `"true"`), lose: putStatus, value: "true"},
		"an apply by a manager that never had it":   {set: merge("kubectl-label", `"true"`), lose: apply("kustomize-controller", ""), value: "true", owners: []string{"kubectl-label"}},
		"another value is applied, and owned":       {set: apply("helm", "true"), lose: apply("helm", "false"), value: "true", owners: []string{"helm"}},
		"an opt-out on purpose":                     {set: merge("kubectl-label", `"true"`), lose: put, allow: "moult.dev/allow-opt-out"},
		"an opt-out that the CRD allows":            {set: both(merge("kubectl-label", `"true"`), allowOptOut), lose: put},
		"an opt-out that the write allows":          {set: merge("kubectl-label", `"true"`), lose: putAllowed},
		"a CRD that never had it":                   {lose: put},
		"a CRD that says no":                        {set: merge("kubectl-label", `"false"`), lose: apply("helm", "false"), value: "false", owners: []string{"helm", "kubectl-label"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := keepLabel(t, c.allow)
			if c.set != nil {
				c.set(k)
			}
			c.lose(k)
			k.Expect(k.live().Labels[v1alpha1.MigrateLabel]).To(Equal(c.value))
			k.Expect(k.owners()).To(ConsistOf(c.owners))

			before := k.live().ResourceVersion
			c.lose(k)
			k.Expect(k.live().ResourceVersion).To(Equal(before), "the same write again changes nothing, so nobody fights")
		})
	}
}

// What comes later: Git learns of the label, or the policy goes.
func TestALabelThatWasPutBackHasNoOwner(t *testing.T) {
	t.Parallel()
	if !keepsLabel(t) {
		return
	}
	k := keepLabel(t, "")
	apply("kustomize-controller", "true")(k)
	apply("kustomize-controller", "")(k)
	k.Expect(k.owners()).To(BeEmpty())

	apply("argocd-controller", "true")(k)
	k.Expect(k.owners()).To(ConsistOf("argocd-controller"), "whoever applies it next owns it, without a conflict")
}

// The label is put back before the rules are asked, so the two go together.
func TestALabelThatIsPutBackBreaksNoRule(t *testing.T) {
	t.Parallel()
	if !keepsLabel(t) {
		return
	}
	k := keepLabel(t, "")
	installForGroup(t, denying, k.bare.Spec.Group)
	merge("kubectl-label", `"true"`)(k)
	put(k)
	k.Expect(k.live().Labels).To(HaveKeyWithValue(v1alpha1.MigrateLabel, "true"))
}

// hasKeepLabel is the minor version of Kubernetes from which on the policy can be installed.
const hasKeepLabel = 36

// keepsLabel reports whether the API server knows what the policy is made of. One that does not refuses it, so that nobody
// takes a label for guarded.
func keepsLabel(t *testing.T) bool {
	t.Helper()
	if cp.Minor >= hasKeepLabel {
		return true
	}
	g, c := NewWithT(t), running.Client(t, cp.Config)
	for _, o := range render(t, keepingLabel) {
		g.Expect(c.Create(t.Context(), o)).To(MatchError(meta.IsNoMatchError, "IsNoMatchError"), "%s %s", o.GetKind(), o.GetName())
	}
	return false
}

// keepLabel installs the policy for a CRD of its own and waits until it is at work.
func keepLabel(t *testing.T, allow string) *kept {
	t.Helper()
	group := builders.UniqueGroup(t)
	installForGroup(t, keepingLabel, group)
	k := &kept{WithT: NewWithT(t), t: t, crds: crdClient(t, cp.Config), bare: builders.CRD(group, "widgets").Build()}
	probe := builders.CRD(group, "probes").OptedIn().Build()
	running.Install(t, cp, probe)
	k.Eventually(func() (map[string]string, error) {
		answer, err := k.crds.Patch(t.Context(), probe.Name, types.MergePatchType, []byte(`{"metadata":{"labels":null}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return nil, err
		}
		return answer.Labels, nil
	}, running.Soon).Should(HaveKey(v1alpha1.MigrateLabel))

	if allow != "" {
		annotate(allow, k.bare.Name)(k.bare)
	}
	running.Install(t, cp, k.bare)
	return k
}
