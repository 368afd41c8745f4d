package preview

import (
	"encoding/base64"
	"strings"
)

// bump is one file that names a release, before and after.
func bump(file, content string, common files) overlooked {
	return overlooked{common: common, base: files{file: content}, head: files{file: strings.ReplaceAll(content, "1.0.0", "2.0.0")}}
}

// inHub is one object that names a release, in an entry point.
func inHub(object string) overlooked {
	c := bump("hub/w.yaml", object, nil)
	c.entry = "hub"
	return c
}

// swapped is a pull request after which a file has the CRD without its first version.
func swapped(file string, of func(crd string) string, common files, entry string) overlooked {
	return overlooked{common: common, base: files{file: of(widgetsCRD)}, head: files{file: of(without)}, entry: entry}
}

func itself(crd string) string { return crd }

const (
	resourceSet = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: r, namespace: flux-system}\nspec:\n  inputs: [{v: one}]\n  resources:\n" +
		"  - {apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: w}, spec: {path: './apps/<< inputs.v >>', prune: true, interval: 10m}}\n"
	fluxInstance = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux, namespace: flux-system}\n" +
		"spec: {distribution: {version: 2.x, registry: r}, sync: {kind: GitRepository, url: 'https://git.example.com/it', path: clusters/a}}\n"
	rootSync    = "apiVersion: configsync.gke.io/v1beta1\nkind: RootSync\nmetadata: {name: r, namespace: s}\nspec: {git: {repo: 'https://git.example.com/it', branch: main, dir: crds}}\n"
	resourcesOf = "apiVersion: addons.cluster.x-k8s.io/v1beta1\nkind: ClusterResourceSet\nmetadata: {name: s}\nspec: {clusterSelector: {}, resources: [{kind: ConfigMap, name: c-1.0.0}]}\n"
	hydrated    = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: argocd}\nspec: {project: default, destination: {namespace: it, server: 'https://kubernetes.default.svc'}, " +
		"sourceHydrator: {drySource: {repoURL: 'https://git.example.com/it', targetRevision: HEAD, path: a}, syncSource: {targetBranch: env-1.0.0, path: a}}}\n"
	installOf = "apiVersion: packaging.carvel.dev/v1alpha1\nkind: PackageInstall\nmetadata: {name: p, namespace: x}\nspec: {packageRef: {refName: p}, values: [{secretRef: {name: v}}]}\n"
	releaseOf = "resource \"helm_release\" \"c\" {\n  version = var.release\n}\n"
	// encrypted is a file of values as SOPS writes it.
	encrypted = "old: ENC[AES256_GCM,data:1.0.0]\nsops: {mac: a}\n"
)

const (
	subscription = "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: s}\nspec: {name: o, startingCSV: o.v1.0.0}\n"
	kubectlJob   = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {containers: [{name: c, image: 'i:1', command: [kubectl, apply, -f, 'https://example.com/1.0.0.yaml']}]}}}\n"
)

// holding is the ConfigMap of a ClusterResourceSet that has a manifest.
func holding(manifest string) string {
	return aConfigMap + "data:\n  a.yaml: |\n" + indented(manifest, "    ")
}

func packing(manifest string) string {
	return "apiVersion: v1\nkind: Secret\ntype: addons.cluster.x-k8s.io/resource-set\nmetadata: {name: s}\ndata: {a.yaml: " + base64.StdEncoding.EncodeToString([]byte(manifest)) + "}\n"
}

// nested is a manifest below a key, or an item of a list.
func nested(manifest string) string {
	return strings.TrimPrefix(indented(manifest, "      "), "      ")
}

func policyOf(how string) string {
	return "apiVersion: policy.open-cluster-management.io/v1\nkind: ConfigurationPolicy\nmetadata: {name: p}\nspec:\n  object-templates:\n  - complianceType: " + how + "\n    objectDefinition:\n" + indented(widgetsCRD, "      ")
}

// Each of these tools installs something that no manifest shows, and was once passed over.
var misleadingInstallers = map[string]overlooked{
	"one that an input with a slash leads to":   swapped("apps/one/two/w.yaml", itself, files{"clusters/a/r.yaml": strings.Replace(resourceSet, "{v: one}", "{v: one/two}", 1), "apps/one/kustomization.yaml": "namespace: x\n"}, "clusters/a"),
	"one that a branch leads to":                swapped("apps/one/two/w.yaml", itself, files{"clusters/a/r.yaml": strings.Replace(resourceSet, "inputs: [{v: one}]", "inputsFrom: [{name: p}]", 1), "apps/one/kustomization.yaml": "namespace: x\n"}, "clusters/a"),
	"a folder of a ResourceSet":                 swapped("apps/one/w.yaml", itself, files{"clusters/a/r.yaml": resourceSet}, "clusters/a"),
	"a folder that a FluxInstance syncs":        swapped("clusters/a/w.yaml", itself, files{"boot/i.yaml": fluxInstance}, "boot"),
	"what Argo CD hydrates":                     swapped("a/w.yaml", itself, files{"apps/a.yaml": hydrated}, "apps"),
	"another branch that is hydrated":           bump("apps/a.yaml", hydrated, files{"a/w.yaml": widgetsCRD}),
	"a folder of Config Sync":                   swapped("crds/w.yaml", itself, files{"hub/r.yaml": rootSync}, "hub"),
	"a package of carvel":                       inHub("apiVersion: data.packaging.carvel.dev/v1alpha1\nkind: Package\nmetadata: {name: p}\nspec: {template: {spec: {fetch: [{imgpkgBundle: {image: 'p:1.0.0'}}]}}}\n"),
	"a Secret of values, by a field alone":      bump("hub/s.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: v, namespace: x}\nstringData: {v.yaml: 'v: 1.0.0'}\n", files{"hub/i.yaml": installOf}),
	"another ConfigMap of a ClusterResourceSet": inHub(resourcesOf),
	"an installer that a ConfigMap holds":       inHub(holding(subscription)),
	"an Application that a ConfigMap holds":     inHub(holding(strings.Replace(hydrated, "HEAD", "1.0.0", 1))),
	"a template of an installer":                inHub(holding("{{ if .old }}\n" + subscription + "{{ end }}\n")),
	"a Job that a ConfigMap holds":              inHub(holding(kubectlJob)),
	"an installer that a Secret packs":          {base: files{"hub/s.yaml": packing(subscription)}, head: files{"hub/s.yaml": packing(strings.ReplaceAll(subscription, "1.0.0", "2.0.0"))}, entry: "hub"},
	"an installer that a ManifestWork holds":    inHub("apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: w}\nspec:\n  workload:\n    manifests:\n    - " + nested(subscription)),
	"an installer of kro's":                     inHub("apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: r}\nspec:\n  schema: {kind: A}\n  resources:\n  - id: s\n    template:\n      " + nested(subscription)),
	"the same, without an entry point":          bump("w.yaml", holding(subscription), nil),
	"a deployment of kluctl's":                  inHub("apiVersion: gitops.kluctl.io/v1beta1\nkind: KluctlDeployment\nmetadata: {name: k}\nspec: {source: {git: {url: 'https://git.example.com/o', ref: {tag: v1.0.0}}}}\n"),
	"a chart of Rancher's":                      inHub("apiVersion: management.cattle.io/v3\nkind: ManagedChart\nmetadata: {name: c}\nspec: {chart: c, version: 1.0.0}\n"),
	"a chart of k0s":                            bump("k0s.yaml", "apiVersion: k0s.k0sproject.io/v1beta1\nkind: ClusterConfig\nspec: {extensions: {helm: {charts: [{name: c, version: 1.0.0}]}}}\n", nil),
	"modules of Kyma":                           inHub("apiVersion: operator.kyma-project.io/v1beta2\nkind: Kyma\nmetadata: {name: k}\nspec: {modules: [{name: a, version: 1.0.0}]}\n"),
	"a policy says that the CRD must not exist": {base: files{"hub/p.yaml": policyOf("musthave")}, head: files{"hub/p.yaml": policyOf("mustnothave")}, entry: "hub"},
	"such a policy, without an entry point":     {base: files{"hub/p.yaml": policyOf("musthave")}, head: files{"hub/p.yaml": policyOf("mustnothave")}},
	"values that a generator takes encrypted": bump("rel/v.sops.yaml", encrypted, files{
		"clusters/a/k.yaml": fluxTo("./rel", ""), "clusters/a/s.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\nspec: {url: 'https://git.example.com/it', interval: 1h}\n",
		"rel/kustomization.yaml": "resources: [r.yaml]\nsecretGenerator: [{name: v, namespace: it, files: [values.yaml=v.sops.yaml], options: {disableNameSuffixHash: true}}]\n",
		"rel/r.yaml":             "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: c, namespace: it}\nspec:\n  interval: 1h\n  chart: {spec: {chart: ./c, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}\n  valuesFrom: [{kind: Secret, name: v}]\n",
		"c/Chart.yaml":           chartC, "c/templates/w.yaml": ifOld,
	}),
	"requirements.yaml": bump("c/requirements.yaml", "dependencies: [{name: d, version: 1.0.0, repository: 'https://charts.example.com'}]\n", files{"c/Chart.yaml": strings.Replace(chartC, "v2", "v1", 1)}),
	"a text that a chart packs for a Job": swapped("c/values.yaml", func(crd string) string { return "crds: |\n" + indented(crd, "  ") },
		files{"c/Chart.yaml": chartC, "c/templates/c.yaml": aConfigMap + "data: {crds: {{ .Values.crds | toJson }}}\n"}, ""),
	"the chart of werf's":               swapped(".helm/templates/w.yaml", itself, files{"werf.yaml": "project: p\nconfigVersion: 1\n"}, ""),
	"a package of Zarf's":               bump("zarf.yaml", "kind: ZarfPackageConfig\ncomponents: [{name: c, charts: [{name: c, version: 1.0.0}]}]\n", nil),
	"a state of Helmsman's":             bump("state.yaml", "helmRepos: {r: 'https://charts.example.com'}\napps: {c: {chart: r/c, version: 1.0.0}}\n", nil),
	"a variable of Terraform's":         bump("tf/variables.tf", "variable \"release\" {\n  default = \"1.0.0\"\n}\n", files{"tf/main.tf": releaseOf}),
	"the file of Terraform's variables": bump("envs/prod.tfvars", "release = \"1.0.0\"\n", files{"tf/main.tf": releaseOf}),
	"an input of a module":              bump("main.tf", "module \"c\" {\n  source = \"./tf\"\n  release = local.c\n}\nlocals {\n  c = \"1.0.0\"\n}\n", files{"tf/main.tf": releaseOf}),
	"an input of Terragrunt's":          bump("live/terragrunt.hcl", "inputs = {\n  release = \"1.0.0\"\n}\n", files{"tf/main.tf": releaseOf}),
	"an add-on of a cloud's":            bump("tf/main.tf", "resource \"aws_eks_addon\" \"c\" { addon_version = \"1.0.0\" }\n", nil),
	"a command that installs a chart":   bump("Makefile", "up:\n\thelm upgrade --install c r/c \\\n\t  --version 1.0.0\n", nil),
	"a command that is piped to":        bump("up.sh", "curl -sL https://example.com/1.0.0/crds.yaml |\n  sed s/a/b/ | kubectl apply -f -\n", nil),
	"a kustomization that is piped":     bump("up.sh", "kustomize build 'https://github.com/x/y//crd?ref=1.0.0' | kubectl apply -f -\n", nil),
	"a command of OpenShift's":          bump("up.sh", "oc apply -f https://example.com/1.0.0/crds.yaml\n", nil),
	"a command below a comment":         bump("up.sh", "#!/bin/sh\nkubectl apply -f https://example.com/1.0.0/crds.yaml\n", nil),
	"a chart below a comment":           bump("tf/main.tf", "# c\nresource \"helm_release\" \"c\" { version = \"1.0.0\" }\n", nil),
	"a command of Cluster API's":        bump("up.sh", "clusterctl upgrade apply --infrastructure aws:v1.0.0\n", nil),
	"a command in a Job that Flux applies": func() overlooked {
		job := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: c, env: [{name: V, value: 1.0.0}], command: [sh, -c, 'kubectl apply -f https://example.com/$V/crds.yaml']}]}}}\n"
		c := bump("crds/j.yaml", job, files{"clusters/a/k.yaml": fluxTo("./crds", "")})
		c.entry = "clusters/a"
		return c
	}(),
	"a variable of a command in a ConfigMap": bump("hub/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v}\ndata: {V: 1.0.0}\n", files{
		"clusters/a/k.yaml": fluxTo("./hub", ""),
		"hub/j.yaml":        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: c, envFrom: [{configMapRef: {name: v}}], command: [sh, -c, 'kubectl apply -f https://example.com/$V/crds.yaml']}]}}}\n",
	}),
	"a command in a Task of Tekton's": bump("crds/t.yaml", "apiVersion: tekton.dev/v1\nkind: Task\nmetadata: {name: t}\nspec: {steps: [{script: 'helm upgrade c r/c --version 1.0.0'}]}\n", files{"clusters/a/k.yaml": fluxTo("./crds", "")}),
	"a Job that deletes the CRD": {common: files{"clusters/a/k.yaml": fluxTo("./crds", ""), "crds/w.yaml": widgetsCRD}, base: files{"crds/x.yaml": aConfigMap},
		head: files{"crds/j.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: c, command: [kubectl, delete, crd, widgets.example.com]}]}}}\n"}},
}
