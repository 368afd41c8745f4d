package stage

import (
	"strings"
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// NameGateNamespaces plays what docs/guides/security.md has about the VersionRemoval of a tenant, under the policies that deny: it
// holds the platform's removal, until the CRD names the namespaces that count. The flag has to name every namespace with a gate.
func (p *Play) NameGateNamespaces(hands Hands) {
	p.T.Helper()
	r, before := p.read("guides/security.md", hands)
	for !strings.HasPrefix(r.guide.blocks[r.guide.next].Text, "opt-in") { // before it are the rights of an installed controller
		r.guide.next++
	}
	r.playTo("So name the namespaces")
	held := r.pushRemoval()
	r.Await("the removal is refused", Patience, r.Denied(held, "may not be removed"))
	r.Await("although its gate is open", Patience, r.RemovalSays(v1alpha1.ReasonSafeToRemove))
	r.playTo("## Recommendations")

	const flag = "--gate-namespaces=platform"
	r.moult.Stop()
	r.moult = r.StartMoult(r.T, flag)
	held = r.pushRemoval()
	r.Await("a gate elsewhere gets no answer", Patience, r.Waits(held))
	r.Holds("and the removal waits", 10*time.Second, r.Waits(held))
	r.moult.Stop()
	r.moult = r.StartMoult(r.T, flag+","+Namespace)
	r.Await("applied", Patience, r.Applied(held))
	r.Await("removed", Patience, All(r.Versions(NewVersion), r.RemovalSays(v1alpha1.ReasonAlreadyRemoved)))
	r.AllAlive(before)
}
