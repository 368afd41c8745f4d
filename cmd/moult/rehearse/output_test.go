package rehearse

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// report has one of all that can be said, with names that mean something in Markdown, XML and on a terminal.
func reportOfAll() conversion.Report {
	group := func(what string) []conversion.Group {
		return []conversion.Group{{What: what, Objects: 7, Examples: []string{"ns/a|b", "ns/</testcase>"}}}
	}
	of := conversion.CRDReport{
		CRD: "widgets.example.com", Storage: "v1", ReadAt: "v1beta1", Cluster: "prod", Objects: 10, Same: 3,
		Lost: append(group("spec.a"), conversion.Group{What: "status.b", Objects: 1, Examples: []string{"ns/c"}, Status: true},
			conversion.Group{What: "spec.d", Objects: 1, Examples: []string{"ns/c"}, Accepted: "nobody `reads` it"}),
		Changed: group("spec.e"), Refused: group("spec: Invalid value: <b>"), Ratcheted: group("spec.f: Required value"),
		Added: group("spec.g"), Undefaulted: group("spec.h"), Unknown: group("a webhook"),
		Failed: []conversion.Group{{What: "to v1: cannot be converted", Fault: conversion.FaultFailed, Says: "no\x1b[31m\n<script> @team", Objects: 1, Examples: []string{"ns/c"}}},
	}
	return conversion.Report{Verdict: conversion.NotKept, CRDs: []conversion.CRDReport{of}, Unused: []conversion.Accepted{{CRD: "widgets.example.com", Path: "spec.z", Reason: "gone"}}}
}

func TestText(t *testing.T) {
	NewWithT(t).Expect(findings(reportOfAll()).Text()).To(Equal(`widgets.example.com in prod: 10 objects, to be stored at v1, read at v1beta1; 3 come back the same
  lost: spec.a
    7 objects: ns/a|b, ns/</testcase> and 5 more
  lost in status, which its controller writes anew: status.b
    1 object: ns/c
  lost, and accepted: nobody ` + "`reads`" + ` it: spec.d
    1 object: ns/c
  changed: spec.e
    7 objects: ns/a|b, ns/</testcase> and 5 more
  not converted: to v1: cannot be converted: no [31m <script> @team
    1 object: ns/c
  refused: spec: Invalid value: <b>
    7 objects: ns/a|b, ns/</testcase> and 5 more
  let pass until it changes: spec.f: Required value
    7 objects: ns/a|b, ns/</testcase> and 5 more
  new to clients of the old version: spec.g
    7 objects: ns/a|b, ns/</testcase> and 5 more
  without its default for clients of the old version: spec.h
    7 objects: ns/a|b, ns/</testcase> and 5 more
  not known: a webhook
    7 objects: ns/a|b, ns/</testcase> and 5 more
accepted and not found: spec.z of widgets.example.com (gone)
something would be lost, changed or refused: move it before the storage version changes, fix the conversion, or accept it with --accept
`))
}

func TestMarkdownMeansNothingBesideItself(t *testing.T) {
	g := NewWithT(t)
	content := findings(reportOfAll()).Markdown()
	g.Expect(content).To(And(
		ContainSubstring("| **lost** | `spec.a` | 7 | "), ContainSubstring("| lost in status, which its controller writes anew | `status.b` |"),
		ContainSubstring("| let pass until it changes | "), ContainSubstring("Accepted and not found: `spec.z`"),
	))
	g.Expect(content).NotTo(Or(ContainSubstring("<script>"), ContainSubstring("@team"), ContainSubstring("a|b"), ContainSubstring("\x1b")))
}

func TestJUnitCountsFailuresAndErrors(t *testing.T) {
	g := NewWithT(t)
	content, err := xml.Marshal(findings(reportOfAll()).JUnit())
	g.Expect(err).NotTo(HaveOccurred())
	read := output.Suites{}
	g.Expect(xml.Unmarshal(content, &read)).To(Succeed())
	g.Expect(read.Suites).To(HaveLen(2))
	first := read.Suites[0]
	g.Expect(first).To(And(HaveField("Tests", 11), HaveField("Failures", 4), HaveField("Errors", 1), HaveField("Cases", HaveLen(11))))
	failures, problems := 0, 0
	for _, c := range first.Cases {
		if c.Failure != nil {
			failures++
		}
		if c.Error != nil {
			problems++
		}
	}
	g.Expect([]int{failures, problems}).To(Equal([]int{4, 1}))
}

// contexts is a kubeconfig with two names for the control plane, and one for a cluster that is not there.
func contexts(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	content, err := cp.KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.Load(content)
	g.Expect(err).NotTo(HaveOccurred())
	present := config.Contexts[config.CurrentContext]
	config.Contexts["east"], config.Contexts["west"], config.Contexts["gone"] = present, present, present.DeepCopy()
	config.Clusters["gone"] = config.Clusters[present.Cluster].DeepCopy()
	config.Clusters["gone"].Server = "https://127.0.0.1:1"
	config.Contexts["gone"].Cluster = "gone"
	config.CurrentContext = "gone"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	return file
}

func TestSeveralClustersAreReadAndOneThatDoesNotAnswerIsNotKnown(t *testing.T) {
	g := NewWithT(t)
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Build()
	w := running.Install(t, cp, crd)
	w.Create(65)
	head := crd.DeepCopy()
	head.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
	head.Spec.Versions[0].Storage, head.Spec.Versions[1].Storage = false, true
	raw, err := yaml.Marshal(head)
	g.Expect(err).NotTo(HaveOccurred())
	crds := filepath.Join(t.TempDir(), "crd.yaml")
	g.Expect(os.WriteFile(crds, raw, 0o600)).To(Succeed())
	args := []string{"rehearse", "--kubeconfig", contexts(t), "--crds", crds, "-o", "json", "--context", "east", "--context", "west"}

	got := suite.Moult.Run(t, args...)
	g.Expect(got.Code).To(Equal(0), got.ErrOut)
	report := conversion.Report{}
	g.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed())
	each := And(HaveField("Objects", BeEquivalentTo(65)), HaveField("Same", BeEquivalentTo(65)), HaveField("ReadAt", "v1alpha1"))
	g.Expect(report.CRDs).To(HaveExactElements(And(HaveField("Cluster", "east"), each), And(HaveField("Cluster", "west"), each)))
	for _, cluster := range []string{"east", "west"} {
		g.Expect(got.ErrOut).To(ContainSubstring(fmt.Sprintf("%s: %s  read 50 of 65 objects", cluster, crd.Name)))
	}

	got = suite.Moult.Run(t, append(args, "--context", "gone")...)
	g.Expect(got.Code).To(Equal(cli.ExitUnknown), got.ErrOut)
	g.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed())
	g.Expect(report.CRDs).To(ConsistOf(And(HaveField("Cluster", "east"), each), And(HaveField("Cluster", "west"), each),
		And(HaveField("Cluster", "gone"), HaveField("Unknown", Not(BeEmpty())))))
}
