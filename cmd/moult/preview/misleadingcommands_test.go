package preview

import (
	"encoding/base64"
	"strings"
)

// inFlux are the files of a repository in which Flux applies a folder with a CRD.
func inFlux(more files) files {
	common := files{"clusters/a/k.yaml": fluxTo("./crds", ""), "crds/w.yaml": widgetsCRD}
	for file, content := range more {
		common[file] = content
	}
	return common
}

// jobOf is a Job with fields of a container.
func jobOf(container string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {containers: [{name: c, " + container + "}]}}}\n"
}

// workflowOf is a workflow of GitHub's with some steps.
func workflowOf(steps string) string {
	return "on: push\njobs:\n  up:\n    runs-on: ubuntu-latest\n    steps:\n    - uses: actions/checkout@v4\n" + steps
}

// packedIn is an object with what something has packed, by how that begins.
func packedIn(begins string) overlooked {
	of := func(what string) string {
		return aConfigMap + "binaryData: {c: " + base64.StdEncoding.EncodeToString([]byte(begins+what)) + "}\n"
	}
	return overlooked{common: inFlux(nil), base: files{"crds/c.yaml": of("before, and more")}, head: files{"crds/c.yaml": of("after, and more")}}
}

const (
	crdsAt      = "https://example.com/1.0.0/crds.yaml"
	ofVariable  = "https://example.com/$(V)/crds.yaml"
	workflow    = ".github/workflows/up.yml"
	providers   = "terraform {\n  required_providers {\n    a = {\n      version = \"1.0.0\"\n    }\n  }\n}\n"
	mutatesCRDs = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {rules: [{name: r, match: {any: [{resources: {kinds: [CustomResourceDefinition]}}]}, mutate: {patchStrategicMerge: {metadata: {labels: {v: 1.0.0}}}}}]}\n"
)

// included is a Makefile that has its variables in another file.
var included = files{"Makefile": "include versions.mk\nup:\n\tkubectl apply -f " + ofVariable + "\n"}

// pipeline is one of GitLab's that has its variables in another file.
const pipeline = "up:\n  script:\n  - kubectl create -f https://example.com/$V/crds.yaml\n"

// modules is a Makefile without the version of what it applies.
const modules = "up:\n\tkubectl apply -k https://example.com/w//config/crd?ref=$(v)\n"

// Each of these commands brings, changes or deletes CRDs, or those of a pipeline, a script or a tool do.
var misleadingCommands = map[string]overlooked{
	"a tag that a Job clones":                    bump("crds/j.yaml", jobOf("command: [sh, -c, 'git clone -b 1.0.0 https://example.com/w /w && kubectl apply -k /w/crd']"), inFlux(nil)),
	"a variable with a tag, far behind":          bump("crds/j.yaml", jobOf("env: [{name: V, value: 1.0.0}], command: [sh, -c, 'git clone https://example.com/widgets/widgets.git /widgets && cd /widgets && git checkout $V && kubectl apply -k crd']"), inFlux(nil)),
	"an archive that a script fetches":           bump("up.sh", "curl -sL https://example.com/archive/1.0.0.tar.gz | tar xz\nkubectl apply -f w/crds\n", nil),
	"a file that a ConfigMap's script fetches":   bump("crds/c.yaml", aConfigMap+"data:\n  up.sh: |\n    wget -O w.yaml "+crdsAt+"\n    kubectl apply -f w.yaml\n", inFlux(nil)),
	"another repository that a pipeline applies": bump(workflow, workflowOf("    - uses: actions/checkout@v4\n      with:\n        repository: x/w\n        ref: 1.0.0\n    - run: kubectl apply -k crd\n"), nil),
	"a script that takes a version out":          bump("up.sh", "yq 'del(.spec.versions[] | select(.name == \"1.0.0\"))' w.yaml > x.yaml\nkubectl apply -f x.yaml\n", nil),
	"a command of a pipeline":                    bump(workflow, workflowOf("    - run: kubectl apply -f "+crdsAt+"\n"), nil),
	"a command of a pipeline, beside Flux":       bump(workflow, workflowOf("    - run: kubectl apply -f "+crdsAt+"\n"), inFlux(nil)),
	"a variable of a pipeline":                   bump(workflow, "env: {V: 1.0.0}\n"+workflowOf("    - run: kubectl apply -f https://example.com/${{ env.V }}/crds.yaml\n"), nil),
	"an input of a pipeline":                     bump(workflow, "on:\n  workflow_dispatch:\n    inputs:\n      v:\n        default: 1.0.0\njobs: {up: {steps: [{run: 'helm upgrade c r/c --version ${{ inputs.v }}'}]}}\n", nil),
	"a variable of a pipeline in another file":   bump(".gitlab-ci.yml", "include: [{local: .gitlab/up.yml}]\nvariables:\n  V: 1.0.0\n", files{".gitlab/up.yml": "up: {script: ['kubectl apply -f https://example.com/$V/crds.yaml']}\n"}),
	"a step of a pipeline that installs a chart": bump(workflow, workflowOf("    - uses: x/helm@v1\n      with:\n        chart: r/c\n        version: 1.0.0\n"), nil),
	"the version of Flux in a pipeline":          bump(workflow, workflowOf("    - uses: fluxcd/flux2/action@main\n      with:\n        version: 1.0.0\n    - run: flux install\n"), nil),
	"a pipeline without an ending":               bump("Jenkinsfile", "node { sh 'helm upgrade c r/c --version 1.0.0' }\n", nil),
	"values that switch CRDs off":                {base: files{"up.sh": "helm upgrade c r/c --set crds.enabled=true\n"}, head: files{"up.sh": "helm upgrade c r/c --set crds.enabled=false\n"}},
	"arguments of an image that has kubectl":     bump("crds/j.yaml", jobOf("image: x/kubectl, args: [apply, -f, '"+crdsAt+"']"), inFlux(nil)),
	"arguments, one a line, of an image":         bump("crds/j.yaml", jobOf("image: x/helm, args: [upgrade, c, r/c, --version, 1.0.0]"), inFlux(nil)),
	"an image with CRDs":                         bump("crds/j.yaml", jobOf("image: 'x/widgets-crds:1.0.0'"), inFlux(nil)),
	"an image with files that are applied":       bump("crds/j.yaml", jobOf("image: 'x/widgets:1.0.0', command: [kubectl, apply, -f, /crds]"), inFlux(nil)),
	"a command when a machine begins":            bump("crds/m.yaml", "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata: {name: m}\nspec: {kubeadmConfigSpec: {postKubeadmCommands: ['kubectl apply -f "+crdsAt+"']}}\n", inFlux(nil)),
	"a request to the API server": {common: inFlux(nil), base: files{"crds/j.yaml": jobOf("command: [curl, -XGET, 'https://k/apis/apiextensions.k8s.io/v1/customresourcedefinitions/w']")},
		head: files{"crds/j.yaml": jobOf("command: [curl, -XDELETE, 'https://k/apis/apiextensions.k8s.io/v1/customresourcedefinitions/w']")}},
	"a variable of an included Makefile":        bump("versions.mk", "V = 1.0.0\n", included),
	"one that overrides those of a command":     bump("versions.mk", "override V := 1.0.0\n", included),
	"one of several lines":                      bump("versions.mk", "define V\n1.0.0\nendef\n", included),
	"one that a shell gives":                    bump("versions.mk", "V != echo 1.0.0\n", included),
	"one of a target":                           bump("versions.mk", "up: V := 1.0.0\n", included),
	"one of another variable":                   bump("versions.mk", "V := v$(W)\nW := 1.0.0\n", included),
	"one of a variable in a third file":         bump("w.mk", "W := 1.0.0\n", files{"versions.mk": "V := v$(W)\n", "Makefile": "include versions.mk w.mk\nup:\n\tkubectl apply -f " + ofVariable + "\n"}),
	"one that is read from a file":              bump("VERSION", "1.0.0\n", files{"versions.mk": "V := $(shell cat VERSION)\n", "Makefile": "include versions.mk\nup:\n\tkubectl apply -f " + ofVariable + "\n"}),
	"a variable of an included pipeline":        bump("ci/vars.yml", "variables:\n  V: 1.0.0\n", files{".gitlab-ci.yml": "include: [ci/vars.yml]\n" + pipeline}),
	"one of several that are included":          bump("ci/vars.yml", "variables:\n  V:\n    value: 1.0.0\n", files{".gitlab-ci.yml": "include:\n- local: '/ci/*.yml'\n" + pipeline}),
	"one that an included pipeline has":         bump("more/vars.yml", ".v: {variables: {V: 1.0.0}}\n", files{".gitlab-ci.yml": "include: {local: ci/vars.yml}\n" + pipeline, "ci/vars.yml": "include: more/vars.yml\n"}),
	"one for another pipeline's commands":       bump("ci/vars.yml", "variables:\n  V: 1.0.0\n", files{".gitlab-ci.yml": "include: [ci/vars.yml, ci/up.yml]\n", "ci/up.yml": pipeline}),
	"the version of a module":                   bump("go.mod", "module x\nrequire example.com/w v1.0.0\n", files{"Makefile": modules + "v := $(shell go list -m -f '{{.Version}}' example.com/w)\n"}),
	"what another module is replaced by":        bump("go.mod", "module x\nreplace example.com/w => example.com/y v1.0.0\n", files{"up.sh": "kubectl apply -k \"$(go list -f '{{.Dir}}' -m example.com/w)/config/crd\"\n"}),
	"the version of a module by a name":         bump("tools/go.mod", "module x\nrequire (\n\texample.com/w v1.0.0\n)\n", files{"Makefile": modules + "v := $(shell cd tools && $(GO) list -m $(WIDGETS))\n"}),
	"a file of variables of a script":           bump("versions.env", "V=1.0.0\n", files{"up.sh": ". ./versions.env\nkubectl apply -f https://example.com/$V/crds.yaml\n"}),
	"a file that has a version":                 bump("VERSION", "1.0.0\n", files{"up.sh": "V=$(cat VERSION)\nkubectl apply -f https://example.com/$V/crds.yaml\n"}),
	"an argument of a script":                   bump("Makefile", "up:\n\t./up.sh 1.0.0\n", files{"up.sh": "kubectl apply -f https://example.com/$1/crds.yaml\n"}),
	"a variable of Taskfile's":                  bump("Taskfile.yml", "vars: {V: 1.0.0}\ntasks: {up: 'kubectl apply -f https://example.com/{{.V}}/crds.yaml'}\n", nil),
	"a version far behind its command":          bump("up.sh", "helm upgrade --install c r/c \\\n"+strings.Repeat("  --set a.b.c=d \\\n", 40)+"  --version 1.0.0\n", nil),
	"a chart that is rendered and applied":      bump("up.sh", "helm template c r/c --version 1.0.0 | kubectl apply -f -\n", nil),
	"an argument of a function":                 bump("up.sh", "up() {\n  kubectl apply -f https://example.com/$1/crds.yaml\n}\nup 1.0.0\n", nil),
	"what a loop goes through":                  bump("up.sh", "for f in 1.0.0 x; do\n  kubectl apply -f https://example.com/$f.yaml\ndone\n", nil),
	"addresses that are piped":                  bump("up.sh", "cat <<EOF | xargs -n1 kubectl apply -f\n"+crdsAt+"\nEOF\n", nil),
	"addresses in a file":                       bump("crds.txt", crdsAt+"\n", files{"up.sh": "xargs -n1 kubectl apply -f < crds.txt\n"}),
	"a base that a pipeline adds":               bump(workflow, workflowOf("    - run: |\n        kustomize edit add resource https://github.com/x/y//crd?ref=1.0.0\n        kustomize build . | kubectl apply -f -\n"), nil),
	"a command in a variable":                   bump("Makefile", "up:\n\t$(KUBECTL) apply -f "+crdsAt+"\n", nil),
	"a chart and a command in a variable":       bump("Makefile", "up:\n\t$(HELM) upgrade c r/c --version 1.0.0\n", nil),
	"a command of package.json":                 bump("package.json", `{"scripts": {"up": "kubectl apply -f `+crdsAt+`"}}`, nil),
	"a task of mise's":                          bump("mise.toml", "[tasks.up]\nrun = 'kubectl apply -f "+crdsAt+"'\n", nil),
	"an image that is built to apply something": bump("Dockerfile", "FROM x/kubectl\nADD "+crdsAt+" /w.yaml\nENTRYPOINT [\"kubectl\", \"apply\", \"-f\", \"/w.yaml\"]\n", nil),
	"a folder that nothing else takes":          swapped("vendor/w/crd/w.yaml", itself, files{"Makefile": "up:\n\tkubectl apply -f vendor/w/crd\n"}, ""),
	"a hidden folder":                           swapped(".deploy/w.yaml", itself, files{workflow: workflowOf("    - run: kubectl apply -f .deploy\n")}, ""),
	"a folder that only a pipeline applies":     swapped("boot/w.yaml", itself, inFlux(files{workflow: workflowOf("    - run: kubectl apply -f boot\n")}), ""),
	"a base that only a command applies":        bump("boot/kustomization.yaml", "resources: ['https://github.com/x/y//crd?ref=1.0.0']\n", inFlux(files{"Makefile": "up:\n\tkubectl apply -k boot\n"})),
	"a packed file that a command applies":      swapped("w.yaml.gz", zipped, files{"up.sh": "gunzip -c w.yaml.gz | kubectl apply -f -\n"}, ""),
	"a command of Terraform's":                  bump("tf/main.tf", "resource \"null_resource\" \"c\" {\n  provisioner \"local-exec\" {\n    command = \"kubectl apply -f "+crdsAt+"\"\n  }\n}\n", nil),
	"a source of data of Terraform's":           bump("tf/data.tf", "data \"http\" \"c\" {\n  url = \""+crdsAt+"\"\n}\n", files{"tf/main.tf": "resource \"kubectl_manifest\" \"c\" {\n  yaml_body = data.http.c.body\n}\n"}),
	"a module of Terraform's with charts":       bump("tf/main.tf", "module \"c\" {\n  source  = \"x/eks-addons/aws\"\n  version = \"1.0.0\"\n}\n", nil),
	"the second of Terraform's local values":    bump("tf/l.tf", "locals {\n  c = {\n    a = {\n      v = 1\n    }\n    b = {\n      version = \"1.0.0\"\n    }\n  }\n}\n", files{"tf/main.tf": "resource \"helm_release\" \"c\" {\n  version = local.c.b.version\n}\n"}),
	"a script that Terraform writes":            bump("tf/up.sh.tftpl", "kubectl apply -f "+crdsAt+"\n", nil),
	"Terraform that Flux runs":                  bump("crds/t.yaml", "apiVersion: infra.contrib.fluxcd.io/v1alpha2\nkind: Terraform\nmetadata: {name: t}\nspec: {path: ./tf, vars: [{name: v, value: 1.0.0}]}\n", inFlux(nil)),
	"a stack of Pulumi's":                       bump("crds/s.yaml", "apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: s}\nspec: {commit: 1.0.0}\n", inFlux(nil)),
	"a policy that changes CRDs":                bump("crds/p.yaml", mutatesCRDs, inFlux(nil)),
	"what comes with a cluster of kops":         bump("c.yaml", "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nspec:\n  addons:\n  - manifest: s3://b/1.0.0.yaml\n", nil),
	"what comes with a cluster of eksctl":       bump("c.yaml", "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\naddons:\n- name: c\n  version: 1.0.0\n", nil),
	"what comes with a cluster of k0sctl":       bump("c.yaml", "apiVersion: k0sctl.k0sproject.io/v1beta1\nkind: Cluster\nspec:\n  k0s:\n    config:\n      spec:\n        extensions:\n          helm: {charts: [{name: c, version: 1.0.0}]}\n", nil),
	"what comes with a cluster of RKE":          bump("cluster.yml", "addons_include:\n- "+crdsAt+"\n", nil),
	"a chart of DevSpace's":                     bump("devspace.yaml", "deployments: {c: {helm: {chart: {name: c, version: 1.0.0}}}}\n", nil),
	"a chart of Tilt's":                         bump("Tiltfile", "helm_remote('c', version='1.0.0')\n", nil),
	"a program of cdk8s":                        bump("k/main.ts", "new Include(this, 'c', {url: '"+crdsAt+"'})\n", files{"k/cdk8s.yaml": "language: typescript\n"}),
	"what xz has packed":                        packedIn("\xfd7zXZ\x00"),
	"what zstd has packed":                      packedIn("\x28\xb5\x2f\xfd"),
	"what zip has packed":                       packedIn("PK\x03\x04"),
}
