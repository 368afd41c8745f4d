package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// pair is two releases of a project, one after the other.
type pair struct {
	project string
	// module is the Go module, renamed is what it is called at the later release if that is another name, and folders are
	// those in it that hold the CRDs that the project installs, at either release.
	module   string
	renamed  string
	folders  []string
	from, to release
}

// unpacked are two releases on disk.
type unpacked struct{ base, head state }

// state is one release: its folder, and the CRDs that the project installs.
type state struct {
	dir  string
	crds []*apiextensionsv1.CustomResourceDefinition
}

// unpack fetches both releases and writes them below a folder.
func (p pair) unpack(ctx context.Context, dir string) (u unpacked, err error) {
	for _, side := range []struct {
		name, module string
		release
		to *state
	}{{"base", p.module, p.from, &u.base}, {"head", cmp.Or(p.renamed, p.module), p.to, &u.head}} {
		file, err := fetch(ctx, side.module, side.release)
		if err != nil {
			return u, err
		}
		side.to.dir = filepath.Join(dir, side.name)
		if err := unpack(file, side.module, side.release, side.to.dir); err != nil {
			return u, err
		}
		if side.to.crds, err = crdsIn(side.to.dir, p.folders); err != nil {
			return u, fmt.Errorf("%s: %w", p, err)
		}
	}
	return u, nil
}

// String names the pair in the words of the table.
func (p pair) String() string {
	return fmt.Sprintf("%s %s → %s", p.project, p.from.version, p.to.version)
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
		project: "cert-manager", module: "github.com/jetstack/cert-manager", folders: []string{"deploy/crds"},
		from: release{"v1.6.0", "h1:jpPqTN+SVajW+U/MbiQXZMOKt78dKfZDOb5f1mlZu0A="},
		to:   release{"v1.7.0", "h1:XLLDmREJ8MlBg/Z1bySjHdyzT4yYTzGlbBsxqddJzxU="},
	},
	{
		project: "cert-manager", module: "github.com/cert-manager/cert-manager", folders: []string{"deploy/crds"},
		from: release{"v1.19.0", "h1:pPKtK06zPriliwq7B12xa7DGKbc4SvnfOjE0BXaAspk="},
		to:   release{"v1.20.0", "h1:czZamsFJ1YdKPhpv+SopJZN9t3W68vQBnFYUevSHGqY="},
	},
	{
		project: "Gateway API, standard", module: "sigs.k8s.io/gateway-api", folders: []string{"config/crd/standard"},
		from: release{"v1.1.0", "h1:DsLDXCi6jR+Xz8/xd0Z1PYl2Pn0TyaFMOPPZIj4inDM="},
		to:   release{"v1.2.0", "h1:LrToiFwtqKTKZcZtoQPTuo3FxhrrhTgzQG0Te+YGSo8="},
	},
	{
		project: "Gateway API, experimental", module: "sigs.k8s.io/gateway-api", folders: []string{"config/crd/experimental"},
		from: release{"v1.1.0", "h1:DsLDXCi6jR+Xz8/xd0Z1PYl2Pn0TyaFMOPPZIj4inDM="},
		to:   release{"v1.2.0", "h1:LrToiFwtqKTKZcZtoQPTuo3FxhrrhTgzQG0Te+YGSo8="},
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
		project: "Flux notification-controller", module: "github.com/fluxcd/notification-controller", folders: []string{"config/crd/bases"},
		from: release{"v1.5.0", "h1:ereRv4FKXJUVWPBQAF1WZJO+Inw6uIIDZjXXpufPzcQ="},
		to:   release{"v1.6.0", "h1:5C06VdqTVsbBFjtSZejnKT60U00Uyj6DAtKrqU1Si/w="},
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
	{
		project: "Crossplane", module: "github.com/crossplane/crossplane", renamed: "github.com/crossplane/crossplane/v2", folders: []string{"cluster/crds"},
		from: release{"v1.20.0", "h1:Wr3+/CilaMbRQ7u4e+m4XBmoARahBpENIYClGzIXpS8="},
		to:   release{"v2.0.0", "h1:emytfpd+8VXVE3KcgmfbzltEgVFzk4w8dW3lEZF/mg4="},
	},
	{
		project: "External Secrets", module: "github.com/external-secrets/external-secrets", folders: []string{"config/crds/bases"},
		from: release{"v0.16.1", "h1:irK7ePVBYI+6nNEN9kAtP7CYPMr6EKqwK3uo3FB4w1M="},
		to:   release{"v0.17.0", "h1:ZV+T915JKdPHfmOuBO438Fa+0uFY5rPBbFYw9KlUMNM="},
	},
	{
		project: "External Secrets", module: "github.com/external-secrets/external-secrets", folders: []string{"config/crds/bases"},
		from: release{"v0.17.0", "h1:ZV+T915JKdPHfmOuBO438Fa+0uFY5rPBbFYw9KlUMNM="},
		to:   release{"v1.3.2", "h1:u2J8RjlHIeF0oZCqtl92adI/uZWUwOesJIDkfql6LqQ="},
	},
	{
		project: "Karpenter", module: "sigs.k8s.io/karpenter", folders: []string{"pkg/apis/crds"},
		from: release{"v0.37.0", "h1:eUFD9hJ2mpZrw31OUYhpbxLWEDmbXT05wX27dZB2E5o="},
		to:   release{"v1.0.8", "h1:15ZYsFRMHJQTRR5+cvFK2D0V6Cj34fgU0qHPKnmFl68="},
	},
	{
		project: "Karpenter", module: "sigs.k8s.io/karpenter", folders: []string{"pkg/apis/crds"},
		from: release{"v1.0.8", "h1:15ZYsFRMHJQTRR5+cvFK2D0V6Cj34fgU0qHPKnmFl68="},
		to:   release{"v1.1.0", "h1:4SdCXihNKH4Y5xLwtKh7sqvCPYTQ3vCvCTPFRaNPQ5Y="},
	},
	{
		project: "Karpenter for AWS", module: "github.com/aws/karpenter-provider-aws", folders: []string{"pkg/apis/crds"},
		from: release{"v1.0.8", "h1:iJrOIXwBKedKZuDJC133twh9muRzsnBej0nIez6oTTI="},
		to:   release{"v1.9.3", "h1:+zwNEu323+3CX8cgbJUEcVld30zn2NDXtbNrz1MBCIQ="},
	},
	{
		project: "KEDA", module: "github.com/kedacore/keda/v2", folders: []string{"config/crd"},
		from: release{"v2.15.1", "h1:Kb3woYuCeCPICH037vTIcUopXgOYpdP2qa+CmHgV3SE="},
		to:   release{"v2.16.1", "h1:LfYsxfSX8DjetLW8q9qnriImH936POrQJvE+caRoScI="},
	},
	{
		project: "KEDA", module: "github.com/kedacore/keda/v2", folders: []string{"config/crd"},
		from: release{"v2.20.2", "h1:SR60v8uIcelbveS8n/1jcl8tLdBBIbHMxmdOHw8tKqA="},
		to:   release{"v2.21.0", "h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps="},
	},
	{
		project: "Knative Serving", module: "knative.dev/serving", folders: []string{"config/core/300-resources"},
		from: release{"v0.43.0", "h1:S+nCHYBaKo8r1kge6zF7hDxQrag5rwMkQTSZyDmrYIc="},
		to:   release{"v0.45.0", "h1:+eOEwSE5+NmhQUUfARHGdSI1gwavddiPMKjl4+sHCjE="},
	},
	{
		project: "Knative Serving", module: "knative.dev/serving", folders: []string{"config/core/300-resources"},
		from: release{"v0.45.0", "h1:+eOEwSE5+NmhQUUfARHGdSI1gwavddiPMKjl4+sHCjE="},
		to:   release{"v0.51.0", "h1:yN2Q7eYqJgoPfZkATjoBZyGbZ2P1Qhns9HIMU4mF+to="},
	},
	{
		project: "Knative Eventing", module: "knative.dev/eventing", folders: []string{"config/core/resources", "config/channels/in-memory-channel/resources"},
		from: release{"v0.43.0", "h1:GELHZ0yYosMeV78l4alMsd7HJciEu6a3T2C5l7MPi3Y="},
		to:   release{"v0.45.0", "h1:LwNmhsw94isfEFOtjN1tpcduD5EzTKo4nbenTxSLd4o="},
	},
	{
		project: "Tekton Pipelines", module: "github.com/tektoncd/pipeline", folders: []string{"config"},
		from: release{"v0.44.0", "h1:gTiLCjTDDog3R9sRtQugiIZYqadmq5K6HArrtM1sHkU="},
		to:   release{"v0.68.0", "h1:bVzj+HbS/NQAPV2CfEW8HZrREm7uagPCzEggyxVTBdc="},
	},
	{
		project: "Tekton Pipelines", module: "github.com/tektoncd/pipeline", folders: []string{"config/300-crds"},
		from: release{"v0.68.0", "h1:bVzj+HbS/NQAPV2CfEW8HZrREm7uagPCzEggyxVTBdc="},
		to:   release{"v1.0.0", "h1:qq/BtjwtvZV7qhd6BnL5sGoBM4vVqpCtz/+hMbs6p94="},
	},
	{
		project: "KubeVirt", module: "kubevirt.io/kubevirt", folders: []string{"manifests/generated"},
		from: release{"v1.6.0", "h1:xk7NgCHB3PVedEbuR7J+ehfR6ihmoDrjpl8tG3on3VE="},
		to:   release{"v1.7.0", "h1:Emz0v1IGKwTvWvD+d0mZmfZFvVCxreSAPAUQnp0ZhZI="},
	},
	{
		project: "Istio", module: "istio.io/api", folders: []string{"kubernetes"},
		from: release{"v1.24.2", "h1:jYjcN6Iq0RPtQj/3KMFsybxmfqmjGN/dxhL7FGJEdIM="},
		to:   release{"v1.31.1", "h1:5Yb5ihcz4YQsCkciusK7DnFpBMwRB6EFWeUKH1Atuyk="},
	},
}
