package main

// pair is two releases of a project, one after the other.
type pair struct {
	project string
	// module is the Go module, and folders are those in it that hold CRDs, at either release.
	module   string
	folders  []string
	from, to release
}

// release is one version of a module.
type release struct {
	version string
	// sum is the module's hash, as go.sum would have it.
	sum string
}

const clusterAPI = "sigs.k8s.io/cluster-api"

// clusterAPIFolders are rendered with the patches that make a webhook convert; at v1.14 the first became the second.
var clusterAPIFolders = []string{"config/crd", "core/config/crd", "bootstrap/kubeadm/config/crd", "controlplane/kubeadm/config/crd"}

// pairs are in the order of the table.
var pairs = []pair{
	{
		project: "cert-manager", module: "github.com/cert-manager/cert-manager", folders: []string{"deploy/crds"},
		from: release{"v1.19.0", "h1:pPKtK06zPriliwq7B12xa7DGKbc4SvnfOjE0BXaAspk="},
		to:   release{"v1.20.0", "h1:czZamsFJ1YdKPhpv+SopJZN9t3W68vQBnFYUevSHGqY="},
	},
	{
		project: "Gateway API, standard", module: "sigs.k8s.io/gateway-api", folders: []string{"config/crd/standard"},
		from: release{"v1.5.1", "h1:RqVRIlkhLhUO8wOHKTLnTJA6o/1un4po4/6M1nRzdd0="},
		to:   release{"v1.6.3", "h1:lKpJa5bGlraC/QeACvCpsHLdmO6y0iKfzVl6gzaFEYc="},
	},
	{
		project: "Gateway API, experimental", module: "sigs.k8s.io/gateway-api", folders: []string{"config/crd/experimental"},
		from: release{"v1.5.1", "h1:RqVRIlkhLhUO8wOHKTLnTJA6o/1un4po4/6M1nRzdd0="},
		to:   release{"v1.6.3", "h1:lKpJa5bGlraC/QeACvCpsHLdmO6y0iKfzVl6gzaFEYc="},
	},
	{
		project: "Argo CD", module: "github.com/argoproj/argo-cd/v3", folders: []string{"manifests/crds"},
		from: release{"v3.4.13", "h1:kmnF4nE5SQ83OhtdX6DMmLSpH0eRIa1gNYdCLNHqB+A="},
		to:   release{"v3.5.7", "h1:Xm1BF+I5OgDKUG3SDK49vn2/Y5AMyaNVko+/JT08gj0="},
	},
	{
		project: "Flux source-controller", module: "github.com/fluxcd/source-controller", folders: []string{"config/crd/bases"},
		from: release{"v1.8.5", "h1:3zKSTGc2FPoZcQ5BjnyOrwdHDWeYqst3uAoZ+c0DG3c="},
		to:   release{"v1.9.6", "h1:nG534/bI6nVpyHra7ONAk6xDB3xPsVT+EOLHZHXPrrc="},
	},
	{
		project: "Flux kustomize-controller", module: "github.com/fluxcd/kustomize-controller", folders: []string{"config/crd/bases"},
		from: release{"v1.7.3", "h1:SzNnGn/4ObAPEHHleM5U7y/AKxKXph3Vj6ZhteeXw8M="},
		to:   release{"v1.9.6", "h1:XB+G3A0mky0j5uVHZWv4oSlS2RvZBoNIUhstIvY0JKE="},
	},
	{
		project: "Cluster API", module: clusterAPI, folders: clusterAPIFolders,
		from: release{"v1.10.0", "h1:Jcmr8aEDI4/MCqNmvjj9YQlW7r4qTUpTnL6T9UUrVuQ="},
		to:   release{"v1.11.0", "h1:4ZqKxjhdP3F/vvHMd675rGsDrT/siggnFPt5eKQ8nkI="},
	},
	{
		project: "Cluster API", module: clusterAPI, folders: clusterAPIFolders,
		from: release{"v1.11.0", "h1:4ZqKxjhdP3F/vvHMd675rGsDrT/siggnFPt5eKQ8nkI="},
		to:   release{"v1.12.0", "h1:iFOz8b0LdrMJS5Df1Eb7wyvTkWqlTUM2LHFEHCeI6vA="},
	},
	{
		project: "Cluster API", module: clusterAPI, folders: clusterAPIFolders,
		from: release{"v1.12.0", "h1:iFOz8b0LdrMJS5Df1Eb7wyvTkWqlTUM2LHFEHCeI6vA="},
		to:   release{"v1.13.6", "h1:imZVIstbRIq2DoKftQv0wPm+vyhWXrE3Zft8E43maqo="},
	},
	{
		project: "Cluster API", module: clusterAPI, folders: clusterAPIFolders,
		from: release{"v1.13.6", "h1:imZVIstbRIq2DoKftQv0wPm+vyhWXrE3Zft8E43maqo="},
		to:   release{"v1.14.2", "h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA="},
	},
}
