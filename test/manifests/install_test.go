package manifests

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// decode finds the objects of a kind.
func decode[T any](g Gomega, rendering *render.Rendering, kind string) []*T {
	var found []*T
	for _, object := range rendering.Objects {
		if object.GetKind() == kind {
			decoded := new(T)
			g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, decoded, true)).To(Succeed())
			found = append(found, decoded)
		}
	}
	return found
}

func folder(g Gomega, name string) *render.Rendering {
	rendering, err := render.Folder(filepath.Join(root, name), render.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	return rendering
}

func deployment(g Gomega, rendering *render.Rendering) *appsv1.Deployment {
	found := decode[appsv1.Deployment](g, rendering, "Deployment")
	g.Expect(found).To(HaveLen(1))
	return found[0]
}

// The API server itself judges whether a pod keeps to the standard "restricted", which the Namespace asks for.
func TestThePodIsRestricted(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.PodSpec)
		says   string // empty: accepted
	}{
		"as it is shipped":   {change: func(*corev1.PodSpec) {}},
		"that may be root":   {func(s *corev1.PodSpec) { s.SecurityContext.RunAsNonRoot = nil }, "runAsNonRoot != true"},
		"without seccomp":    {func(s *corev1.PodSpec) { s.SecurityContext.SeccompProfile = nil }, "seccompProfile"},
		"with capabilities":  {func(s *corev1.PodSpec) { s.Containers[0].SecurityContext.Capabilities = nil }, "unrestricted capabilities"},
		"that may gain more": {func(s *corev1.PodSpec) { s.Containers[0].SecurityContext.AllowPrivilegeEscalation = nil }, "allowPrivilegeEscalation != false"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			base := folder(g, "clusters/base")
			namespaces := decode[corev1.Namespace](g, base, "Namespace")
			g.Expect(namespaces).To(HaveLen(1))
			admin := running.Client(t, cp.Config)
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "restricted-", Labels: namespaces[0].Labels}}
			g.Expect(admin.Create(t.Context(), namespace)).To(Succeed())
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "moult"}, Spec: deployment(g, base).Spec.Template.Spec}
			g.Expect(*pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem).To(BeTrue(), "which the standard does not ask for")
			c.change(&pod.Spec)
			err := admin.Create(t.Context(), pod, client.DryRunAll)
			if c.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(c.says)))
			}
		})
	}
}

// What the objects of the installation say about one another is true in every kustomization that has one.
func TestTheObjectsOfAnInstallationFitTogether(t *testing.T) {
	for name, rendering := range built(t) {
		if len(decode[appsv1.Deployment](NewWithT(t), rendering, "Deployment")) == 0 || strings.HasPrefix(name, "examples/operator/") {
			continue // an operator's Deployment is not Moult's
		}
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := deployment(g, rendering)
			container := d.Spec.Template.Spec.Containers[0]
			g.Expect(*d.Spec.Replicas).To(BeNumerically(">=", 2))
			g.Expect(container.Args).To(ContainElement("--enable-leader-election"), "two that work are twice the work")
			ports := map[string]int32{}
			for _, port := range container.Ports {
				ports[port.Name] = port.ContainerPort
				g.Expect(container.Args).To(ContainElement(HaveSuffix("-addr=:"+strconv.Itoa(int(port.ContainerPort)))), "the controller listens at %s", port.Name)
			}
			for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
				g.Expect(probe.HTTPGet.Port).To(Equal(intstr.FromString("health")))
			}
			g.Expect(ports).To(And(HaveKey("health"), HaveKey("metrics")))

			pod := labels.Set(d.Spec.Template.Labels)
			for _, service := range decode[corev1.Service](g, rendering, "Service") {
				g.Expect(labels.SelectorFromSet(service.Spec.Selector).Matches(pod)).To(BeTrue())
				g.Expect(ports).To(HaveKey(service.Spec.Ports[0].TargetPort.StrVal))
				g.Expect(service.Namespace).To(Equal(d.Namespace))
			}
			for _, budget := range decode[policyv1.PodDisruptionBudget](g, rendering, "PodDisruptionBudget") {
				g.Expect(matches(g, budget.Spec.Selector, pod)).To(BeTrue())
				g.Expect(budget.Namespace).To(Equal(d.Namespace))
			}
			for _, policy := range decode[networkingv1.NetworkPolicy](g, rendering, "NetworkPolicy") {
				g.Expect(matches(g, &policy.Spec.PodSelector, pod)).To(BeTrue())
				g.Expect(policy.Namespace).To(Equal(d.Namespace))
				for _, ingress := range policy.Spec.Ingress {
					g.Expect(ports).To(HaveKey(ingress.Ports[0].Port.StrVal))
				}
			}
			g.Expect(decode[policyv1.PodDisruptionBudget](g, rendering, "PodDisruptionBudget")).To(HaveLen(1))
			g.Expect(decode[networkingv1.NetworkPolicy](g, rendering, "NetworkPolicy")).NotTo(BeEmpty())
		})
	}
}

func matches(g Gomega, selector *metav1.LabelSelector, pod labels.Set) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	g.Expect(err).NotTo(HaveOccurred())
	return parsed.Matches(pod)
}

// wild is the one folder that grants what nobody has named.
const wild = "clusters/components/all-custom-resources"

func TestNoRoleHasAWildcard(t *testing.T) {
	g := NewWithT(t)
	for name, rendering := range built(t) {
		var rules []rbacv1.PolicyRule
		for _, role := range decode[rbacv1.ClusterRole](g, rendering, "ClusterRole") {
			rules = append(rules, role.Rules...)
		}
		for _, role := range decode[rbacv1.Role](g, rendering, "Role") {
			rules = append(rules, role.Rules...)
		}
		wildcard := slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return strings.Contains(strings.Join(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs), " "), "*")
		})
		g.Expect(wildcard).To(Equal(name == wild), name)
	}
}

// What is built for a cluster says where the image comes from; the base cannot know it.
func TestEveryClusterNamesItsImage(t *testing.T) {
	g := NewWithT(t)
	clusters := 0
	for name, rendering := range built(t) {
		if strings.HasPrefix(name, "clusters/base") || strings.HasPrefix(name, "clusters/components") ||
			strings.HasPrefix(name, "examples/operator/") { // which installs an operator, not Moult
			continue
		}
		for _, d := range decode[appsv1.Deployment](g, rendering, "Deployment") {
			g.Expect(d.Spec.Template.Spec.Containers[0].Image).To(MatchRegexp(`^[a-z.]+/.+:v\d`), name)
			clusters++
		}
	}
	g.Expect(clusters).To(BeNumerically(">=", 3))
}

// Flux and Argo CD are told to build folders that are there.
func TestEveryEntryPointLeadsToAFolder(t *testing.T) {
	g := NewWithT(t)
	folders, seen := built(t), 0
	for name, rendering := range folders {
		if !strings.HasPrefix(name, "clusters/") {
			continue // an example's paths are in a repository of its own
		}
		for _, object := range rendering.Objects {
			for _, field := range [][]string{{"spec", "path"}, {"spec", "source", "path"}} {
				if path, found, _ := unstructured.NestedString(object.Object, field...); found {
					g.Expect(folders).To(HaveKey(strings.TrimPrefix(path, "./")), "%s %s", object.GetKind(), object.GetName())
					seen++
				}
			}
		}
	}
	g.Expect(seen).To(Equal(3))
}

func TestTheNudgeComponentTurnsTheFlagOn(t *testing.T) {
	g := NewWithT(t)
	has := func(name string) bool {
		return slices.Contains(deployment(g, built(t)[name]).Spec.Template.Spec.Containers[0].Args, "--nudge")
	}
	g.Expect(has("clusters/components/nudge")).To(BeTrue())
	g.Expect(has("clusters/base")).To(BeFalse())
	g.Expect(has("clusters/flux-production/moult")).To(BeTrue())
}

// A second installation takes over no object of the first, and refers to none but the priority level of Kubernetes.
func TestTwoInstallationsShareNothing(t *testing.T) {
	g := NewWithT(t)
	first, second := map[string]bool{}, folder(g, "clusters/second-install")
	for _, object := range folder(g, "clusters/base").Objects {
		first[object.GetKind()+" "+object.GetName()] = true
	}
	for _, object := range second.Objects {
		g.Expect(first).NotTo(HaveKey(object.GetKind() + " " + object.GetName()))
	}
	text := builders.YAML(second.Objects)
	g.Expect(text).NotTo(ContainSubstring("moult-system"))
	g.Expect(text).NotTo(MatchRegexp(`(serviceAccountName|aggregate-to|  name): moult-`), "every name and every reference has the prefix")
}
