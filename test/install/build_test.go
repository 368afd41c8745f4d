package install

import (
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
)

// namesItsBuild looks for version, commit and date in all that the two programs show of themselves.
func namesItsBuild(t *testing.T, i *Installation, controller *Controller, migrated string) {
	t.Helper()
	g := NewWithT(t)
	const build = version + " (commit 0123456789ab of " + date + ")"
	agents := func(r *Road) (agents []string) {
		// controller-runtime gives those for the lease a name of its own.
		for _, request := range r.Seen(func(r Request) bool { return !r.Is("", "/leases") }) {
			agents = append(agents, request.Agent)
		}
		return agents
	}
	agent := func(program string) types.GomegaMatcher {
		return HaveEach(MatchRegexp(`^` + program + `/` + version + ` \(\w+/\w+; commit 0123456789ab of ` + date + `\)`))
	}
	g.Expect(agents(controller.Road)).To(agent("moult-controller"))

	text, err := controller.get("metrics", "/metrics")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(MatchRegexp(`(?m)^moult_build_info\{commit="` + commit + `",date="` + date + `",goversion="go1\.[^"]+",version="` + version + `"\} 1$`))

	for name, arguments := range map[string][]string{"moult": {"version"}, "moult-controller": {"--version"}} {
		printed, err := exec.CommandContext(t.Context(), Program(t, name), arguments...).Output()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(printed)).To(Equal(name + " " + build + "\n"))
	}

	road, err := NewRoad(i.cp.Config)
	g.Expect(err).NotTo(HaveOccurred())
	defer road.Close()
	said, err := exec.CommandContext(t.Context(), Program(t, "moult"), "status", migrated, "--kubeconfig", i.kubeconfig(t.TempDir(), road)).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(said))
	g.Expect(agents(road)).To(agent("moult"))
}
