// Package admission tests the policies in policies/admission, as people install them: as kustomize builds them. The table in
// cases_test.go says which writes break a rule; each case is a dry run on a real API server. shipped_test.go plays it against
// the policies as they are shipped, mutation_test.go against policies from which one rule after the other is taken away, and
// the other tests do real writes: a CRD's whole life beside the real reconcilers, and what becomes of a label that is put
// back.
//
// A new rule needs a case that it alone denies, or TestEveryRuleIsHeldByACase fails.
package admission

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

// The folders that people install.
const (
	denying      = "../../../policies/admission/deny"
	warning      = "../../../policies/admission/warn"
	keepingLabel = "../../../policies/admission/keep-label"
)

var (
	cp    *controlplane.ControlPlane
	audit = &auditLog{}
)

// TestMain gives the API server an audit log, and shipped policies are in force for all CRDs: no other package can share it.
func TestMain(m *testing.M) {
	running.Quiet()
	policy, err := filepath.Abs("testdata/audit-policy.yaml")
	if err != nil {
		panic(err)
	}
	controlplane.Run(m, &cp, controlplane.Output(audit),
		controlplane.Flag("audit-policy-file", policy), controlplane.Flag("audit-log-path", "-"))
}

// auditLog keeps the lines that tell of a rule that was broken.
type auditLog struct {
	mu    sync.Mutex
	begun []byte
	lines []string
}

func (l *auditLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = append(l.begun, p...)
	for {
		line, rest, whole := bytes.Cut(l.begun, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if bytes.Contains(line, []byte("validation.policy.admission.k8s.io/validation_failure")) {
			l.lines = append(l.lines, string(line))
		}
		l.begun = bytes.Clone(rest)
	}
}

// tells looks for one line that holds all the words.
func (l *auditLog) tells(words ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
next:
	for _, line := range l.lines {
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue next
			}
		}
		return true
	}
	return false
}

// render builds a folder as kustomize does.
func render(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	g.Expect(err).NotTo(HaveOccurred())
	var objects []*unstructured.Unstructured
	for _, resource := range built.Resources() {
		content, err := resource.Map()
		g.Expect(err).NotTo(HaveOccurred())
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	g.Expect(objects).NotTo(BeEmpty())
	return objects
}

// install creates policies and bindings, and takes them away at the end of the test. It returns when the API server goes
// by them.
func install(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	g, c := NewWithT(t), running.Client(t, cp.Config)
	t.Cleanup(func() {
		for _, o := range objects {
			g.Expect(client.IgnoreNotFound(c.Delete(context.Background(), o))).To(Succeed())
		}
	})
	for _, o := range objects {
		g.Expect(c.Create(t.Context(), o.DeepCopy())).To(Succeed(), o.GetName())
	}
	settle(t, c)
}

// installShipped is install for a folder as it is: it is in force for all CRDs, so nothing may run beside it, and nothing
// after it before it is gone.
func installShipped(t *testing.T, dir string) {
	t.Helper()
	t.Cleanup(func() { settle(t, running.Client(t, cp.Config)) })
	install(t, render(t, dir))
}

var sentinels atomic.Int64

// settle waits until the API server goes by all policies that were created or deleted before. It gathers them once in a
// second and all at a time, so a policy that is younger than all others and at work says that they are, too.
func settle(t *testing.T, c client.Client) {
	t.Helper()
	g, ctx := NewWithT(t), context.Background()
	name := fmt.Sprintf("sentinel-%d", sentinels.Add(1))
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"namespaces"}},
				},
			}}},
			Validations: []admissionv1.Validation{{Expression: "object.metadata.name != '" + name + "'"}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	g.Expect(c.Create(ctx, policy)).To(Succeed())
	g.Expect(c.Create(ctx, binding)).To(Succeed())
	probe := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	g.Eventually(func() error {
		return c.Create(ctx, probe.DeepCopy(), client.DryRunAll)
	}, running.Soon).Should(MatchError(apierrors.IsInvalid, "IsInvalid"))
	g.Expect(c.Delete(ctx, binding)).To(Succeed())
	g.Expect(c.Delete(ctx, policy)).To(Succeed())
}

// scope makes copies of policies and bindings that stand beside the others under names of their own, and look only at
// what the condition allows.
func scope(objects []*unstructured.Unstructured, suffix, condition string) []*unstructured.Unstructured {
	var scoped []*unstructured.Unstructured
	for _, o := range objects {
		o = o.DeepCopy()
		o.SetName(o.GetName() + suffix)
		if name, bound, _ := unstructured.NestedString(o.Object, "spec", "policyName"); bound {
			_ = unstructured.SetNestedField(o.Object, name+suffix, "spec", "policyName")
		} else {
			conditions, _, _ := unstructured.NestedSlice(o.Object, "spec", "matchConditions")
			conditions = append(conditions, map[string]any{"name": "scope", "expression": condition})
			_ = unstructured.SetNestedSlice(o.Object, conditions, "spec", "matchConditions")
		}
		scoped = append(scoped, o)
	}
	return scoped
}

// installForGroup is install for the CRDs of one API group, so that tests can run side by side.
func installForGroup(t *testing.T, dir, group string) {
	t.Helper()
	name, _, _ := strings.Cut(group, ".")
	install(t, scope(render(t, dir), "-"+name, "request.?name.orValue('').endsWith('."+group+"')"))
}
