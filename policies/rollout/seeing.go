package rollout

import (
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/delivery"
)

const andGive = ", and give the result to the preview with --base FILE --head FILE"

// seeing is what to do to see what a source brings.
func seeing(u delivery.Unseen) string {
	switch {
	case u.Runs:
		return "see what both releases of the program do with CRDs; if that is nothing, or right, acknowledge it in .moult.yaml"
	case u.Offline:
		return "leave out --offline, so that what it is made of is fetched"
	case strings.Contains(u.Why, "--cluster-secrets"):
		return "name the Secrets of the clusters that Argo CD knows with --cluster-secrets FILE"
	}
	return rendering(u.By)
}

// rendering is what to do by the tool that renders what an object brings.
func rendering(by *delivery.Object) string {
	const helm = "render both sides, with `helm template --include-crds` for example" + andGive
	switch by.GroupVersionKind().Group {
	case "operators.coreos.com", "olm.operatorframework.io":
		return "take the CRDs of both releases out of the operator's bundles" + andGive
	case "pkg.crossplane.io":
		return "take the CRDs of both releases out of the packages" + andGive
	case "operator.cluster.x-k8s.io":
		return "print both releases, with `clusterctl generate provider` for example" + andGive
	case "fluxcd.controlplane.io":
		return "render both sides, with `flux-operator build` for example" + andGive
	case "helm.toolkit.fluxcd.io", "helm.cattle.io", "addons.cluster.x-k8s.io":
		return helm
	case delivery.FluxGroup:
		return seeingArtifact(by)
	case "argoproj.io":
		if slices.ContainsFunc(delivery.SourcesOf(by), func(s delivery.Source) bool { return s.Settings.Text("chart") != "" || s.Settings.Field("helm") != nil }) {
			return helm
		}
		return "print both sides, with `argocd app manifests --revision` for example" + andGive
	}
	switch by.GetKind() {
	case "Submodule":
		return "compare the two commits with `moult preview` in the submodule's own repository"
	case "File":
		return "render both sides, with `helm template --include-crds` if it is of a chart" + andGive
	}
	return "render both sides where they can be rendered" + andGive
}

// seeingArtifact is about a Flux Kustomization.
func seeingArtifact(by *delivery.Object) string {
	switch by.SourceRef().Kind {
	case "OCIRepository":
		return "fetch both artifacts, with `flux pull artifact` for example" + andGive
	case "Bucket", "ExternalArtifact":
		return "fetch what was applied and what will be" + andGive
	}
	return "build both sides where that is possible, with `kustomize build` for example" + andGive
}
