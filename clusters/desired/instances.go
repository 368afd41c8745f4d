package desired

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/clusters/desired/commands"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/delivery"
)

// findInstances notes an object that the controller of a Composition, a ResourceGraphDefinition or a Promise makes others of, if these install
// something. A version may stand in the instance alone.
func (f *follower) findInstances(object *delivery.Object, u *delivery.Unit) {
	kind, templates := object.GroupVersionKind().GroupKind(), f.templates()
	template := cmp.Or(templates[kind], templates[schema.GroupKind{Group: kind.Group}])
	if template == nil {
		return
	}
	p := f.newFingerprint()
	p.object(object)
	f.cluster.Unseen = append(f.cluster.Unseen, delivery.Unseen{
		Name: kinds.NameOf(object, u), By: object, Why: fmt.Sprintf("%s makes something of it that installs what is in no manifest", kinds.NameOf(template, nil)), Fingerprint: p.Sum(),
	})
}

// templatesOf are what makes objects of the instances of a kind, by that kind, where these objects install something.
func templatesOf(c *delivery.Cluster) map[schema.GroupKind]*delivery.Object {
	found := map[schema.GroupKind]*delivery.Object{}
	for _, object := range c.Objects() {
		of := kindsOf(object)
		if len(of) == 0 || commands.InObject(object) == "" {
			continue
		}
		for _, kind := range of {
			found[kind] = object
		}
		if object.Is(crossplane, "Composition") { // a claim of another kind becomes such a composite
			found[schema.GroupKind{Group: crossplane, Kind: "EnvironmentConfig"}] = object
			found[schema.GroupKind{Group: of[0].Group}] = object
		}
	}
	return found
}

const crossplane = "apiextensions.crossplane.io"

// kindsOf are the kinds whose instances an object makes others of.
func kindsOf(template *delivery.Object) []schema.GroupKind {
	switch {
	case template.Is(crossplane, "Composition"):
		kind := schema.FromAPIVersionAndKind(template.Text("spec", "compositeTypeRef", "apiVersion"), template.Text("spec", "compositeTypeRef", "kind")).GroupKind()
		return []schema.GroupKind{kind}
	case template.Is("kro.run", "ResourceGraphDefinition"):
		group := template.Text("spec", "schema", "group")
		if group == "" {
			group = "kro.run"
		}
		return []schema.GroupKind{{Group: group, Kind: template.Text("spec", "schema", "kind")}}
	case template.Is("platform.kratix.io", "Promise"):
		return []schema.GroupKind{{Group: template.Text("spec", "api", "spec", "group"), Kind: template.Text("spec", "api", "spec", "names", "kind")}}
	}
	return nil
}
