package preview

import "github.com/moult-dev/moult/policies/rollout"

// Install adds what the units apply that the cluster gets for the first time, or anew. At an installation, Helm may replace CRDs
// that it leaves alone afterwards (spec.install.crds of a HelmRelease).
// https://fluxcd.io/flux/components/helm/helmreleases/#controlling-the-lifecycle-of-custom-resource-definitions
func (p Pair) Install() {
	for _, u := range p.Head.Units {
		if was := p.Base.Unit(u.Name); was == nil || rollout.ReplacesRelease(was, u) {
			u.Objects = append(u.Objects, u.Installed...)
			u.Kept = append(u.Kept, u.Installed...)
			u.Installed = nil
		}
	}
}
