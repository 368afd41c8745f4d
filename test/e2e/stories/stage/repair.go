package stage

import (
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// RepairByHand does the second step and the third of docs/guides/many-clusters.md for a cluster that has missed commits. The shell is
// in a repository whose folder widgets has the CRD of the last one.
func (p *Play) RepairByHand(guide *Guide, in *Shell, name string) {
	p.T.Helper()
	run := func(begins string) {
		line := strings.NewReplacer("NAME", name, "CRD", CRD, "OLD", OldVersion).Replace(guide.Line(begins))
		p.Say("$ %s\n%s", line, in.MustRun(line))
	}
	run("moult bridge --live --context")
	run("moult rehearse --context NAME --crds between.yaml")
	run("kubectl --context NAME apply")
	p.Say("%s", in.MustRun("moult wait "+CRD+" --context "+name+" --for migrated --timeout 2m"))
	run("moult survivors CRD --version OLD")
	p.Await("the gate asks for more", Patience, p.RemovalSays(v1alpha1.ReasonStillServed))
	kubectl := "kubectl --context " + name
	in.MustRun(`i=$(` + kubectl + ` get crd ` + CRD + ` -o json | jq '[.spec.versions[].name] | index("v1alpha1")')
` + kubectl + ` patch crd ` + CRD + ` --type=json -p '[{"op":"replace","path":"/spec/versions/'$i'/served","value":false}]'`)
	p.Await("and is open", Patience, p.RemovalReady())
}
