// Package delivery is what a cluster gets from a repository, as everything that judges a pull request sees it. A Unit
// is what one Flux Kustomization or Argo CD Application applies, with its Objects and the Sources that they are built
// from. Beside the units there is what brings objects that cannot be seen.
//
// It holds no rules. clusters/desired fills it in, and is the only one that follows Kustomizations and Applications;
// policies/optin, policies/rollout and policies/preview read it. Start with unit.go; source.go reads the tools' own objects.
package delivery
