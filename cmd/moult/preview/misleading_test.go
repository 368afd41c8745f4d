package preview

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

const removesFirst = "- patch: |-\n    - {op: remove, path: /spec/versions/0}\n  target: {kind: CustomResourceDefinition}\n"

// ifOld is a template that has the old version only if the values ask for it.
var ifOld = "{{ if .Values.old }}\n" + widgetsCRD + "{{ else }}\n" + without + "{{ end }}\n"

func fluxTo(path, more string) string {
	return strings.Replace(fluxOf, "path: ./crds,", "path: "+path+","+more, 1)
}

// appTo is an Application with a path; more is of its source.
func appTo(name, path, server, more string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd}\n" +
		"spec: {project: default, source: {repoURL: 'https://git.example.com/it', targetRevision: HEAD, path: " + path + more + "}, destination: {namespace: it, server: '" + server + "'}}\n"
}

const (
	own = "https://kubernetes.default.svc"
	set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s, namespace: argocd}\nspec:\n  generators: [{list: {elements: [{c: a}, {c: b}]}}]\n" +
		"  template:\n    metadata: {name: 'it-{{c}}'}\n    spec: {project: default, source: {repoURL: 'https://git.example.com/it', targetRevision: HEAD, path: 'o/{{c}}'}, destination: {server: 'https://{{c}}.example.com', namespace: it}}\n"
)

const aConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"

func zipped(text string) string {
	var to bytes.Buffer
	w := gzip.NewWriter(&to)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return to.String()
}

func gzipped(text string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\nbinaryData: {components: " + base64.StdEncoding.EncodeToString([]byte(zipped(text))) + "}\n"
}

// Each of these was made to be taken for safe.
var misleading = map[string]overlooked{
	"a patch of a Flux Kustomization": {
		common: files{"crds/w.yaml": widgetsCRD}, base: files{"clusters/a/k.yaml": fluxTo("./crds", "")},
		head: files{"clusters/a/k.yaml": fluxTo("./crds", " patches: [{patch: '[{op: remove, path: /spec/versions/0}]', target: {kind: CustomResourceDefinition}}],")},
	},
	"the first of the clusters of an ApplicationSet": {
		common: files{"apps/s.yaml": set, "crds/w.yaml": widgetsCRD, "crds/kustomization.yaml": "resources: [w.yaml]\n", "o/b/kustomization.yaml": "resources: [../../crds]\npatches:\n" + removesFirst},
		base:   files{"o/a/kustomization.yaml": "resources: [../../crds]\n"}, head: files{"o/a/kustomization.yaml": "resources: [../../crds]\npatches:\n" + removesFirst},
	},
	"the first of two Applications for two clusters": {
		common: files{"apps/a.yaml": appTo("a", "a", own, ""), "apps/b.yaml": appTo("b", "b", "https://b.example.com", ""), "b/w.yaml": without},
		base:   files{"a/w.yaml": widgetsCRD}, head: files{"a/w.yaml": without},
	},
	"the first of two Applications for one cluster": {
		common: files{"apps/a.yaml": appTo("a", "a", own, ""), "apps/b.yaml": appTo("b", "b", own, ""), "b/w.yaml": without},
		base:   files{"a/w.yaml": widgetsCRD}, head: files{"a/w.yaml": without},
	},
	"a Flux Kustomization has another path": {
		common: files{"one/w.yaml": widgetsCRD, "two/w.yaml": without},
		base:   files{"clusters/a/k.yaml": fluxTo("./one", "")}, head: files{"clusters/a/k.yaml": fluxTo("./two", "")},
	},
	"a replacement's source": {
		common: files{"k/w.yaml": widgetsCRD, "k/kustomization.yaml": "resources: [w.yaml, s.yaml]\nreplacements:\n- source: {kind: ConfigMap, name: s, fieldPath: data.v}\n  targets: [{select: {kind: CustomResourceDefinition}, fieldPaths: [spec.versions.0.name]}]\n"},
		base:   files{"k/s.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {v: v1alpha1}\n"}, head: files{"k/s.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {v: v1beta1}\n"},
	},
	"an Application does not recurse any more": {
		common: files{"a/b/w.yaml": widgetsCRD}, base: files{"apps/a.yaml": appTo("a", "a", own, ", directory: {recurse: true}")}, head: files{"apps/a.yaml": appTo("a", "a", own, "")},
	},
	"an Application includes less": {
		common: files{"a/w.yaml": widgetsCRD, "a/x.yaml": aConfigMap},
		base:   files{"apps/a.yaml": appTo("a", "a", own, "")}, head: files{"apps/a.yaml": appTo("a", "a", own, ", directory: {include: x.yaml}")},
	},
	"a mark that Argo CD passes a file over": {
		common: files{"apps/a.yaml": appTo("a", "a", own, "")}, base: files{"a/w.yaml": widgetsCRD}, head: files{"a/w.yaml": "# +argocd:skip-file-rendering\n" + widgetsCRD},
	},
	"a CRD in a value": {
		common: files{"c/Chart.yaml": chartC, "c/templates/x.yaml": "{{ range .Values.extra }}\n---\n{{ tpl . $ }}\n{{ end }}\n"},
		base:   files{"c/values.yaml": "extra:\n- |\n" + indented(widgetsCRD, "  ")}, head: files{"c/values.yaml": "extra:\n- |\n" + indented(without, "  ")},
	},
	"an Application goes, and what it has applied stays in the repository": {
		common: files{"root.yaml": appTo("root", "apps", own, ""), "apps/b.yaml": appTo("b", "b", own, ""), "b/x.yaml": aConfigMap, "crds/w.yaml": widgetsCRD},
		base:   files{"apps/a.yaml": appTo("a", "crds", own, "")},
	},
	"a kustomization goes, and its CRDs lie in a folder below": {common: files{"config/crd/bases/w.yaml": widgetsCRD}, base: files{"config/crd/kustomization.yaml": "resources: [bases/w.yaml]\n"}},
	"a kind of two halves": {
		common: files{"c/Chart.yaml": chartC},
		base:   files{"c/templates/x.yaml": halved(widgetsCRD)}, head: files{"c/templates/x.yaml": halved(without)},
	},
	"a kind behind an anchor": {base: files{"d/w.yaml": "x: &k CustomResourceDefinition\n" + strings.Replace(widgetsCRD, "kind: CustomResourceDefinition", "kind: *k", 1)}, head: files{"d/w.yaml": "x: &k CustomResourceDefinition\n" + strings.Replace(without, "kind: CustomResourceDefinition", "kind: *k", 1)}},
	"values of a HelmRelease in a generated ConfigMap": {
		common: files{
			"clusters/a/k.yaml": fluxTo("./rel", ""), "clusters/a/s.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\nspec: {url: 'https://git.example.com/it', interval: 1h, ref: {branch: main}}\n",
			"rel/kustomization.yaml": "resources: [r.yaml]\nconfigMapGenerator: [{name: v, namespace: it, files: [values.yaml], options: {disableNameSuffixHash: true}}]\n",
			"rel/r.yaml":             "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: c, namespace: it}\nspec:\n  interval: 1h\n  chart: {spec: {chart: ./charts/c, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}\n  valuesFrom: [{kind: ConfigMap, name: v}]\n",
			"charts/c/Chart.yaml":    chartC, "charts/c/templates/w.yaml": ifOld,
		},
		base: files{"rel/values.yaml": "old: true\n"}, head: files{"rel/values.yaml": "old: false\n"},
	},
	"a component that a Flux Kustomization adds": {
		common: files{"crds/w.yaml": widgetsCRD, "crds/kustomization.yaml": "resources: [w.yaml]\n", "clusters/a/k.yaml": fluxTo("./crds", " components: [../c],")},
		base:   files{"c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels: [{pairs: {a: b}}]\n"}, head: files{"c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n" + removesFirst},
	},
	"a .sourceignore comes": {common: files{"clusters/a/k.yaml": fluxTo("./crds", ""), "crds/w.yaml": widgetsCRD}, head: files{".sourceignore": "crds/w.yaml\n"}},
	"a source is overridden": {
		common: files{"apps/a.yaml": appTo("a", "a", own, ""), "a/w.yaml": widgetsCRD, "a/kustomization.yaml": "resources: [w.yaml]\n"},
		head:   files{"a/.argocd-source.yaml": "kustomize:\n  patches:\n  - patch: |-\n      - {op: remove, path: /spec/versions/0}\n    target: {kind: CustomResourceDefinition}\n"},
	},
	"a file gets a name that no tool takes": {common: files{"clusters/a/k.yaml": fluxTo("./crds", ""), "crds/x.yaml": aConfigMap}, base: files{"crds/w.yaml": widgetsCRD}, head: files{"crds/w.yaml.bak": widgetsCRD}},
	"an Application in JSON":                {common: files{"apps/a.json": `{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a", "namespace": "argocd"}, "spec": {"project": "default", "source": {"repoURL": "https://git.example.com/it", "path": "crds", "targetRevision": "HEAD"}, "destination": {"namespace": "x"}}}`}, base: files{"crds/w.yaml": widgetsCRD}, head: files{"crds/w.yaml": without}},
	"docs that are applied":                 {common: files{"clusters/a/k.yaml": fluxTo("./docs/crds", "")}, base: files{"docs/crds/w.yaml": widgetsCRD}, head: files{"docs/crds/w.yaml": without}},
	"values that a helmfile names":          {common: files{"helmfile.yaml": "releases: [{name: c, chart: ./c, values: [v.yaml]}]\n", "c/Chart.yaml": chartC, "c/values.yaml": "old: false\n", "c/templates/w.yaml": ifOld}, base: files{"v.yaml": "old: true\n"}, head: files{"v.yaml": "old: false\n"}},
	"a helmfile beside an entry point":      {common: files{"clusters/a/k.yaml": fluxTo("./crds", ""), "crds/w.yaml": widgetsCRD}, base: files{"bootstrap/helmfile.d/00-crds.yaml.gotmpl": "releases: [{name: c, chart: r/c, version: 1.0.0}]\n"}, head: files{"bootstrap/helmfile.d/00-crds.yaml.gotmpl": "releases: [{name: c, chart: r/c, version: 2.0.0}]\n"}},
	"a helmfile of another name":            {base: files{"helmfile-crds.yaml": "releases: [{name: c, chart: r/c, version: 1.0.0}]\n"}, head: files{"helmfile-crds.yaml": "releases: [{name: c, chart: r/c, version: 2.0.0}]\n"}},
	"a chart of Terraform's":                {base: files{"d/m.tf": `resource "helm_release" "c" { version = "1.0.0" }`}, head: files{"d/m.tf": `resource "helm_release" "c" { version = "2.0.0" }`}},
	"a chart of Terraform's in JSON":        {base: files{"d/m.tf.json": `{"resource": {"helm_release": {"c": {"version": "1.0.0"}}}}`}, head: files{"d/m.tf.json": `{"resource": {"helm_release": {"c": {"version": "2.0.0"}}}}`}},
	"a chart of Terraform's without quotes": {base: files{"d/m.tf": `resource helm_release c { version = "1.0.0" }`}, head: files{"d/m.tf": `resource helm_release c { version = "2.0.0" }`}},
	"a chart of kluctl's":                   {base: files{"d/helm-chart.yaml": "helmChart: {repo: r, chartName: c, chartVersion: 1.0.0}\n"}, head: files{"d/helm-chart.yaml": "helmChart: {repo: r, chartName: c, chartVersion: 2.0.0}\n"}},
	"a chart of Skaffold's":                 {base: files{"skaffold.yaml": "deploy: {helm: {releases: [{remoteChart: r/c, version: 1.0.0}]}}\n"}, head: files{"skaffold.yaml": "deploy: {helm: {releases: [{remoteChart: r/c, version: 2.0.0}]}}\n"}},
	"a CRD that Jsonnet makes of another file": {
		common: files{"apps/a.yaml": appTo("a", "a", own, ""), "a/x.jsonnet": "std.parseYaml(importstr '../w.txt')"}, base: files{"w.txt": widgetsCRD}, head: files{"w.txt": without},
	},
	"a library of Jsonnet's": {base: files{"jsonnetfile.lock.json": `{"dependencies": [{"version": "a"}]}`}, head: files{"jsonnetfile.lock.json": `{"dependencies": [{"version": "b"}]}`}},
	"a chart of Tanka's":     {base: files{"lib/chartfile.yaml": "version: 1\nrequires: [{chart: r/c, version: 1.0.0}]\n"}, head: files{"lib/chartfile.yaml": "version: 1\nrequires: [{chart: r/c, version: 2.0.0}]\n"}},
	"a chart of Ansible's": {base: files{"play.yml": `- hosts: localhost
  tasks:
  - name: install
    kubernetes.core.helm: {name: c, chart_ref: r/c, chart_version: 1.0.0}
`}, head: files{"play.yml": `- hosts: localhost
  tasks:
  - name: install
    kubernetes.core.helm: {name: c, chart_ref: r/c, chart_version: 2.0.0}
`}},
	"a manifest of Talos's": {base: files{"talos/controlplane.yaml": `cluster:
  extraManifests:
  - https://example.com/v1.0.0/crds.yaml
`}, head: files{"talos/controlplane.yaml": `cluster:
  extraManifests:
  - https://example.com/v2.0.0/crds.yaml
`}},
	"a manifest in a patch of Talos's, beside an entry point": {common: files{"clusters/a/k.yaml": fluxTo("./crds", ""), "crds/w.yaml": widgetsCRD}, base: files{"talos/patch.yaml": `cluster:
  inlineManifests:
  - {name: c, contents: "# 1.0.0\nkind: x"}
`}, head: files{"talos/patch.yaml": `cluster:
  inlineManifests:
  - {name: c, contents: "# 2.0.0\nkind: x"}
`}},
	"a module of Timoni's": {base: files{"bundle.cue": `bundle: {
	apiVersion: "v1alpha1"
	instances: c: module: {url: "oci://example.com/c", version: "1.0.0"}
}
`}, head: files{"bundle.cue": `bundle: {
	apiVersion: "v1alpha1"
	instances: c: module: {url: "oci://example.com/c", version: "2.0.0"}
}
`}},
	"a program of Pulumi's": {
		common: files{"p/Pulumi.yaml": "name: p\nruntime: nodejs\n", "p/package.json": `{"dependencies": {"@pulumi/kubernetes": "4"}}`},
		base: files{"p/index.ts": `new k8s.helm.v3.Release("c", {chart: "c", version: "1.0.0"})
`}, head: files{"p/index.ts": `new k8s.helm.v3.Release("c", {chart: "c", version: "2.0.0"})
`},
	},
	"a command in a Makefile": {base: files{"Makefile": `V ?= 1.0.0
install:
	kubectl apply --server-side \
	  -f https://example.com/$(V)/crds.yaml
`}, head: files{"Makefile": `V ?= 2.0.0
install:
	kubectl apply --server-side \
	  -f https://example.com/$(V)/crds.yaml
`}},
	"a command in a script": {base: files{"hack/up.sh": `URL="https://example.com/1.0.0/crds.yaml"
kubectl apply -f "${URL}"
`}, head: files{"hack/up.sh": `URL="https://example.com/2.0.0/crds.yaml"
kubectl apply -f "${URL}"
`}},
	"a command in a Job": {base: files{"deploy/job.yaml": `apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  template:
    spec:
      containers:
      - name: k
        command:
        - kubectl
        - apply
        - -f
        - https://example.com/1.0.0/crds.yaml
`}, head: files{"deploy/job.yaml": `apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  template:
    spec:
      containers:
      - name: k
        command:
        - kubectl
        - apply
        - -f
        - https://example.com/2.0.0/crds.yaml
`}},
	"a second file of a command": {base: files{"Makefile": `install:
	kubectl apply -f https://example.com/a.yaml \
	  -f https://example.com/1.0.0/crds.yaml
`}, head: files{"Makefile": `install:
	kubectl apply -f https://example.com/a.yaml \
	  -f https://example.com/2.0.0/crds.yaml
`}},
	"what a broken folder is made of": {common: files{"clusters/a/k.yaml": fluxTo("./crds", ""), "crds/kustomization.yaml": "resources: [w.yaml, none.yaml]\n"}, base: files{"crds/w.yaml": widgetsCRD}, head: files{"crds/w.yaml": without}},
	"what a folder behind a link is built of": {
		common: files{"clusters/a/k.yaml": fluxTo("./o", ""), "o/kustomization.yaml": "resources: [../link, none.yaml]\n", "link": "link:deep/real", "deep/real/kustomization.yaml": "resources: [../crds]\n", "deep/crds/w.yaml": widgetsCRD},
		base:   files{"deep/crds/kustomization.yaml": "resources: [w.yaml]\n"}, head: files{"deep/crds/kustomization.yaml": "resources: [w.yaml]\npatches:\n" + removesFirst},
	},
	"what a folder without a kustomization behind a link is built of": {
		common: files{"clusters/a/k.yaml": fluxTo("./link", ""), "link": "link:deep/real", "deep/real/x/kustomization.yaml": "resources: [../../crds]\n", "deep/real/x.yaml": "kind: {{ x }}\n", "deep/crds/w.yaml": widgetsCRD},
		base:   files{"deep/crds/kustomization.yaml": "resources: [w.yaml]\n"}, head: files{"deep/crds/kustomization.yaml": "resources: [w.yaml]\npatches:\n" + removesFirst},
	},
	"a pointer in a folder of a chart behind a link": {
		common: files{"apps/a.yaml": appTo("a", "c", own, ""), "c/Chart.yaml": chartC, "c/files": "link:../f", "c/templates/w.yaml": "{{ with (.Files.Get \"files/w.txt\" | fromYaml).crd }}{{ toYaml . }}{{ end }}\n"},
		base:   files{"f/w.txt": lfs("a")}, head: files{"f/w.txt": lfs("b")},
	},
	"what gzip has packed":      {base: files{"d/c.yaml": gzipped(widgetsCRD)}, head: files{"d/c.yaml": gzipped(without)}},
	"a Flux Kustomization goes": {common: files{"crds/w.yaml": widgetsCRD, "clusters/a/x.yaml": aConfigMap}, base: files{"clusters/a/k.yaml": fluxTo("./crds", "")}},
}

func halved(crd string) string {
	return strings.Replace(crd, "kind: CustomResourceDefinition", "kind: {{ printf \"%s%s\" \"CustomResource\" \"Definition\" }}", 1)
}

func TestNoMisleadingRepositoryIsSafe(t *testing.T) {
	for name, c := range misleading {
		t.Run(name, c.isSeen)
	}
	for name, c := range misleadingInstallers {
		t.Run(name, c.isSeen)
	}
	for name, c := range misleadingCommands {
		t.Run(name, c.isSeen)
	}
	for name, c := range misleadingScripts {
		t.Run(name, c.isSeen)
	}
}

// What fails, or brings nothing, alike before and after must not make every pull request unknown.
func TestWhatBringsNothingBeforeAndAfterIsNoReasonToAsk(t *testing.T) {
	for name, c := range map[string]overlooked{
		"Terraform about a cloud beside a chart":             bump("tf/net.tf", "terraform {\n  required_version = \"1.0.0\"\n}\nresource \"aws_vpc\" \"c\" {\n  name = \"1.0.0\"\n}\n", files{"b/w.yaml": widgetsCRD, "tf/main.tf": releaseOf}),
		"a command about a chart of the repository":          bump("Makefile", "up:\n\thelm upgrade --install c ./c --set v=1.0.0\n\tkustomize build config/1.0.0 | kubectl apply -f -\n", files{"b/w.yaml": widgetsCRD}),
		"a folder without CRDs of a ResourceSet":             bump("apps/one/x.yaml", aConfigMap+"data: {v: 1.0.0}\n", files{"clusters/a/r.yaml": resourceSet, "apps/one/w.yaml": widgetsCRD}),
		"a Deployment beside a CRD":                          bump("hub/w.yaml", strings.Replace(manifestWork(widgetsCRD), "    -\n", "    - {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {image: 'd:1.0.0'}}\n    -\n", 1), nil),
		"a ConfigMap without CRDs of a ClusterResourceSet":   bump("hub/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-1.0.0}\ndata: {v: 1.0.0}\n", files{"hub/s.yaml": resourcesOf}),
		"Terraform about a cloud":                            {common: files{"b/w.yaml": widgetsCRD}, base: files{"d/m.tf": `resource "aws_vpc" "c" { cidr_block = "10.0.0.0/8" }`}, head: files{"d/m.tf": `resource "aws_vpc" "c" { cidr_block = "10.1.0.0/16" }`}},
		"a command that stays in a Makefile":                 {base: files{"Makefile": "V = 1\nW = 1\nup:\n\tkubectl apply -f https://example.com/$(V)/crds.yaml\nlint:\n\tlint $(W)\n"}, head: files{"Makefile": "V = 1\nW = 2\nup:\n\tkubectl apply -f https://example.com/$(V)/crds.yaml\nlint:\n\tlint --all $(W)\n"}},
		"a command about files of the repository":            {common: files{"b/w.yaml": widgetsCRD}, base: files{"Makefile": "up:\n\tkubectl apply -f b\n"}, head: files{"Makefile": "up:\n\tkubectl apply -k b\n"}},
		"another module than the one that is applied":        bump("go.mod", "module x\nrequire example.com/w v1\nrequire example.com/y v1.0.0\n", files{"Makefile": modules + "v := $(shell go list -m example.com/w)\n"}),
		"Ansible about a server":                             {base: files{"play.yml": "- hosts: all\n  tasks:\n  - ansible.builtin.apt: {name: a}\n"}, head: files{"play.yml": "- hosts: all\n  tasks:\n  - ansible.builtin.apt: {name: b}\n"}},
		"Talos without manifests":                            {base: files{"talos/m.yaml": "machine: {install: {image: a}}\n"}, head: files{"talos/m.yaml": "machine: {install: {image: b}}\n"}},
		"Pulumi about a cloud":                               {common: files{"p/Pulumi.yaml": "name: p\nruntime: nodejs\n", "p/package.json": `{"dependencies": {"@pulumi/aws": "4"}}`}, base: files{"p/index.ts": "a"}, head: files{"p/index.ts": "b"}},
		"Terraform's providers beside a chart":               bump("tf/main.tf", providers+releaseOf, nil),
		"a module beside a chart with a version":             bump("tf/m.tf", "module \"m\" {\n  source = \"x/vpc/aws\"\n  version = \"1.0.0\"\n}\n", files{"tf/main.tf": strings.Replace(releaseOf, "var.release", "local.version", 1) + "locals {\n  version = \"1\"\n}\n"}),
		"what a pipeline checks its own repository out with": {base: files{workflow: workflowOf("    - run: kubectl apply -f " + crdsAt + "\n")}, head: files{workflow: strings.Replace(workflowOf("    - run: kubectl apply -f "+crdsAt+"\n"), "@v4", "@v5", 1)}},
		"a variable of a module that no command has":         bump("conf.py", "CRDS = 'https://example.com/crds.yaml'\nIMAGE = '1.0.0'\n", inFlux(files{"up.py": "from conf import CRDS, IMAGE\nrun(['kubectl', 'apply', '-f', CRDS])\n"})),
		"a target that updates files of the repository":      bump("Makefile", "define tag\n$(eval t := $(shell curl -s https://example.com/tags))\nendef\nupdate:\n\t$(call tag,c)\n\tcurl -o b/w.yaml https://example.com/1.0.0/$(t)/w.yaml\n", files{"b/w.yaml": widgetsCRD}),
		"a provider of Terraform called as a tool":           bump("tf/versions.tf", "terraform {\n  required_providers {\n    helm = {\n      source = \"hashicorp/helm\"\n      version = \"1.0.0\"\n    }\n  }\n}\n", nil),
		"an image in Jsonnet":                                bump("a/x.jsonnet", "{apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'd'}, spec: {image: 'd:1.0.0'}}", files{"apps/a.yaml": appTo("a", "a", own, ""), "a/w.yaml": widgetsCRD}),
		"a program that a pipeline fetches":                  bump(workflow, workflowOf("    - run: |\n        curl -LO https://example.com/1.0.0/bin/linux/amd64/kubectl\n        kubectl apply -f b\n"), files{"b/w.yaml": widgetsCRD}),
		"a chart that a pipeline writes into a file":         bump(workflow, workflowOf("    - run: helm template c r/c --version 1.0.0 > w.yaml\n"), nil),
		"the language of a pipeline":                         bump(workflow, workflowOf("    - uses: actions/setup-go@v5\n      with:\n        go-version: 1.0.0\n    - run: helm upgrade c r/c --version ${{ env.version }}\n"), nil),
		"what a program of Pulumi's says about itself":       bump("README.md", "1.0.0\n", files{"Pulumi.yaml": "name: p\nruntime: yaml\nresources: {c: {type: 'kubernetes:helm.sh/v3:Release'}}\n"}),
		"a policy about Pods":                                bump("crds/p.yaml", strings.Replace(mutatesCRDs, "CustomResourceDefinition", "Pod", 1), inFlux(nil)),
		"nodes of a cluster of eksctl":                       bump("c.yaml", "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\naddons: [{name: c}]\nmanagedNodeGroups: [{name: n-1.0.0}]\n", nil),
		"an image that has only kubectl":                     bump("crds/j.yaml", jobOf("image: 'x/kubectl:1.0.0', command: [kubectl, apply, -f, /x]"), inFlux(nil)),
		"an empty kustomization":                             {common: files{"apps/a.yaml": appTo("a", "a", own, ""), "a/kustomization.yaml": "# resources: []\n", "b/w.yaml": widgetsCRD, "apps/b.yaml": appTo("b", "b", own, "")}},
		"a stub of an ApplicationSet":                        {common: files{"config/s.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: example}\nspec: {}\n", "b/w.yaml": widgetsCRD}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.base == nil {
				c.base, c.head = files{"b/x.yaml": aConfigMap}, files{"b/x.yaml": strings.Replace(aConfigMap, "x}", "y}", 1)}
			}
			g := c.write(t)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline")
			g.Expect(code).To(Equal(cli.ExitDone), out+errOut)
		})
	}
}

// An Application whose folder goes applies nothing else than before; of a folder with CRDs that is something to look at.
func TestAFolderThatAToolTakesMayGoIfNothingInItIsAboutCRDs(t *testing.T) {
	for content, code := range map[string]int{aConfigMap: cli.ExitDone, widgetsCRD: cli.ExitUnknown, manifestWork(widgetsCRD): cli.ExitUnknown, appTo("b", "b", own, ""): cli.ExitUnknown} {
		c := overlooked{common: files{"apps/a.yaml": appTo("a", "web", own, ""), "b/x.yaml": aConfigMap}, base: files{"web/x.yaml": content}}
		g := c.write(t)
		got, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline")
		g.Expect(got).To(Equal(code), content+out+errOut)
	}
}

// Files that no entry point leads to are looked into for tools, and are no cluster more if there is none.
func TestWhereNoOtherToolIsNoClusterMoreIsCounted(t *testing.T) {
	c := overlooked{common: inFlux(files{"clusters/b/k.yaml": fluxTo("./crds", ""), "crds/h.yaml": release("1.0.0")}), base: files{"README.md": "one\n"}, head: files{"README.md": "two\n"}}
	g := c.write(t)
	code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline")
	g.Expect(code).To(Equal(cli.ExitDone), out+errOut)
	g.Expect(out).To(ContainSubstring("seen from 2 clusters"))
}
