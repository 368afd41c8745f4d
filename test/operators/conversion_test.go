package operators

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// webhook is what a CRD lacks where its project adds it with a patch.
const webhook = `
spec:
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: a, name: a, path: /convert}}}}
`

// run is the standard output of a command; its exit code is the last answer.
func run(t *testing.T, name string, args ...string) (string, int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if command.ProcessState == nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out), command.ProcessState.ExitCode()
}

// report is what the command prints, as far as it is looked at here.
type report struct {
	CRDs []struct {
		CRD      string
		Findings []struct{ Kind, From, Via, What, Says string }
	}
}

// What Cluster API's conversions do to objects that the API server takes: fields of references that v1beta2 has no place for, a number that
// is another one afterwards, and objects that cannot be read at the other version. One CRD loses nothing.
func TestClusterAPI(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	module, code := run(t, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api")
	g.Expect(code).To(BeZero())
	var crds []string
	for _, name := range []string{"cluster.x-k8s.io_machines", "cluster.x-k8s.io_machinedrainrules", "ipam.cluster.x-k8s.io_ipaddresses", "ipam.cluster.x-k8s.io_ipaddressclaims"} {
		content, err := os.ReadFile(filepath.Join(strings.TrimSpace(module), "config/crd/bases", name+".yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		crds = append(crds, strings.Replace(string(content), "\nspec:\n", webhook, 1))
	}
	file := filepath.Join(folder, "crds.yaml")
	g.Expect(os.WriteFile(file, []byte(strings.Join(crds, "\n---\n")), 0o600)).To(Succeed())
	for _, args := range [][]string{{"build", "-o", folder + "/", "./webhook"}, {"-C", "../..", "build", "-o", folder + "/", "./cmd/moult"}} {
		_, code := run(t, "go", args...)
		g.Expect(code).To(BeZero())
	}

	out, code := run(t, filepath.Join(folder, "moult"), "test", "conversion", "--fuzz", "200", "--crds", file, "-o", "json", "--webhook-command", "exec "+filepath.Join(folder, "webhook"))
	g.Expect(code).To(Equal(1), out)
	var found report
	g.Expect(json.Unmarshal([]byte(out), &found)).To(Succeed())
	fails := map[string][]string{}
	for _, of := range found.CRDs {
		name, _, _ := strings.Cut(of.CRD, ".")
		fails[name] = []string{}
		for _, f := range of.Findings {
			switch f.Kind {
			case "lost", "changed", "notConverted":
				fails[name] = append(fails[name], strings.TrimSpace(f.Kind+" "+f.From+" "+f.What+" "+f.Says))
			}
		}
	}
	g.Expect(fails["machinedrainrules"]).To(BeEmpty())
	g.Expect(fails["machines"]).To(ContainElements("lost v1beta1 spec.infrastructureRef.uid", "lost v1beta1 spec.infrastructureRef.fieldPath"))
	g.Expect(fails["machines"]).To(ContainElement(ContainSubstring("invalid duration")))
	g.Expect(fails["ipaddresses"]).To(ConsistOf("changed v1alpha1 spec.prefix", "changed v1alpha1 spec.prefix", "changed v1beta1 spec.prefix", "changed v1beta1 spec.prefix"))
	g.Expect(fails["ipaddressclaims"]).To(ContainElement(ContainSubstring("invalid metadata: metadata.labels")))
}
