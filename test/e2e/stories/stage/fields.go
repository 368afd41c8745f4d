package stage

import (
	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
)

const fieldsPage = "guides/fields-would-be-lost.md"

// FlipBackForFields plays docs/guides/fields-would-be-lost.md block by block, under the policies that deny, and goes on to the
// removal. That was merged once while fields would be lost: what the page has for that is done, too.
func (p *Play) FlipBackForFields(hands Hands) {
	p.T.Helper()
	r, before := p.read(fieldsPage, hands)
	r.loseFields()
	r.Suspend(true)
	r.Say("%s", r.guide.MustRun(`kubectl patch crd `+CRD+` --type=json -p '[{"op": "replace", "path": "/spec/versions/0/served", "value": true}]'`))
	r.run("moult backup")
	r.guide.MustRun(`tar -xzOf now.tar.gz | grep -q '"color":"white"'`)
	r.guide.MustRun(serveOld)
	commit := r.Push(TwoVersions, r.commit(nil))
	r.Suspend(false)
	r.Await("served again", Patience, r.Applied(commit))

	r.playTo("**Or add the field**")
	r.storedAt(OldVersion, before)
	r.playTo("[Correctness]")
	r.storedAt(NewVersion, before)
	r.remove(before)
}

// AddFields does the other thing that the page has against the loss, while the removal is merged.
func (p *Play) AddFields(hands Hands) {
	p.T.Helper()
	r, before := p.read(fieldsPage, hands)
	r.loseFields()
	r.guide.MustRun(serveOld + `; sed -i '/- name: v1$/,$ s/size: {type: integer}/&\n              color: {type: string}/' ` + crdOfGuides)
	r.sync()
	r.Await("goes on by itself", Patience, r.guide.Prints("moult wait"))
	r.storedAt(NewVersion, before)
	r.remove(before)
	r.g.Expect(r.guide.MustRun("kubectl get widgets.v1.example.com tulip -o jsonpath='{.spec.color}'")).To(Equal("white"))
}

// serveOld is the change that serves the old version.
const serveOld = `sed -i "/- name: v1alpha1/,/storage:/ s/served: .*/served: true/" ` + crdOfGuides

// loseFields plays the page to what stops the loss. But the old version is not served any more, and the removal is merged.
func (r *reader) loseFields() {
	r.T.Helper()
	r.playTo("## Stop the loss")
	r.g.Expect(r.Stored(r.T)).To(Equal(map[string]int{OldVersion: 2, NewVersion: 1}), "but for the one that was written")
	r.runs("serve false")
	held := r.pushRemoval()
	r.Await("kubectl get vr", Patience, r.RemovalSays(v1alpha1.ReasonFieldsWouldBeLost))
	r.Await("the removal is refused", Patience, r.Refused(held))
}

// remove goes on as the README has it.
func (r *reader) remove(before Widgets) {
	r.T.Helper()
	r.runs("serve false")
	r.runs("remove")
	r.Await("removed", Patience, All(r.Versions(NewVersion), r.RemovalSays(v1alpha1.ReasonAlreadyRemoved)))
	r.AllAlive(before)
}
