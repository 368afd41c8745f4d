package doctor

import (
	"fmt"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/policies/doctor"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/test/controlplane/assets"
	"github.com/moult-dev/moult/test/running"
)

// mutates is the minor version of Kubernetes from which on there is a MutatingAdmissionPolicy.
const mutates = 36

func TestTheDoctorSaysWhatTheServerLacks(t *testing.T) {
	w := healthy(t)
	r, code := w.check(doctor.Kubernetes)
	w.Expect(code).To(Equal(cli.ExitDone))
	w.Expect(r.Outcome).To(Equal(doctor.Passed))
	if cp.Minor >= mutates {
		w.Expect(r.Findings).To(BeEmpty())
	} else {
		w.Expect(r.Findings).To(ConsistOf(And(HaveField("Severity", finding.Info), HaveField("Object", HavePrefix(fmt.Sprintf("Kubernetes v1.%d.", cp.Minor))),
			HaveField("Why", ContainSubstring("keep-label cannot be installed")))))
	}
	w.Expect(r.Evidence).To(HavePrefix(fmt.Sprintf("the API server is v1.%d.", cp.Minor)))

	minors, err := assets.Minors()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(r.Evidence).To(HaveSuffix("Moult is tested with Kubernetes " + minors[0] + " to " + minors[len(minors)-1]))
}

func TestTheDoctorSeesAnAggregatedServer(t *testing.T) {
	w := healthy(t)
	r, code := w.check(doctor.Aggregation)
	w.Expect(code).To(Equal(cli.ExitDone))
	w.Expect(r.Outcome).To(Equal(doctor.Passed))

	server := running.Aggregated(t, cp, w.GR.WithVersion("v1"), w.CRD.Spec.Names.Kind)
	server.HandOver()
	r, code = w.check(doctor.Aggregation)
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(r.Findings).To(ConsistOf(And(HaveField("Severity", finding.Error), HaveField("Object", w.CRD.Name),
		HaveField("Why", And(ContainSubstring("APIService "+server.APIService()), ContainSubstring("Service "+server.Service()))))))

	r, code = w.check(doctor.Aggregation, "--kubeconfig", w.KubeconfigAs(running.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "list")))
	w.Expect(code).To(Equal(cli.ExitDone))
	w.Expect(r.Evidence).To(Equal("the APIServices of " + w.CRD.Name + " may not be read; it needs get on apiservices in apiregistration.k8s.io"))
}

// aside is what the doctor says of an older API server, whatever else is wrong.
var aside = regexp.MustCompile(`(?m)^info {5}kubernetes .*\n(?: {9}.*\n)+\n`)

// without is an answer of the doctor but for what it says of an older API server.
func without(what *regexp.Regexp, a clitest.Answer) clitest.Answer {
	a.Out = what.ReplaceAllString(a.Out, "")
	return a
}
