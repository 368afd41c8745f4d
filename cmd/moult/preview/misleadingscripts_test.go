package preview

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

const applyCRDs = "kubectl apply -f " + crdsAt + "\n"

func scriptOf(text string) overlooked { return bump("up.sh", text, inFlux(nil)) }

func stepsOf(steps string) overlooked { return bump(workflow, workflowOf(steps), inFlux(nil)) }

// Each of these commands is written in another way, and brings CRDs all the same.
var misleadingScripts = map[string]overlooked{
	"a script that is piped to a shell":           scriptOf("curl -sfL https://example.com/1.0.0/install | bash\n"),
	"a version for such a script":                 scriptOf("curl -sfL https://get.example.com | VERSION=1.0.0 sudo -E sh -\n"),
	"a script in a substitution":                  scriptOf("bash -c \"$(curl -fsSL https://example.com/1.0.0/install.sh)\"\n"),
	"a script in place of a file":                 scriptOf("source <(curl -s https://example.com/1.0.0/install.sh)\n"),
	"a script that is run by its name":            scriptOf("curl -fsSLO https://example.com/1.0.0/install.sh\nchmod +x install.sh\n./install.sh\n"),
	"a script that is stored under another name":  scriptOf("curl -fsSL -o /tmp/i https://example.com/1.0.0/install\nbash /tmp/i\n"),
	"a script that a pipeline pipes to a shell":   stepsOf("    - run: curl -sfL https://example.com/1.0.0/install.sh | bash\n"),
	"kubectl in a variable":                       scriptOf("K=\"kubectl --context prod\"\n$K apply -f " + crdsAt + "\n"),
	"kubectl under an alias":                      scriptOf("alias k=kubectl\nk apply -f " + crdsAt + "\n"),
	"kubectl in a function":                       scriptOf("k() { kubectl --context prod \"$@\"; }\nk apply -f " + crdsAt + "\n"),
	"kubectl in a variable of a Makefile":         bump("Makefile", "K := $(shell which kubectl)\nup:\n\t$(K) apply -f "+crdsAt+"\n", nil),
	"kubectl by its path":                         scriptOf("\"$(command -v kubectl)\" apply -f " + crdsAt + "\n"),
	"kubectl behind other programs":               scriptOf("sudo -E timeout 60 env KUBECONFIG=/x " + applyCRDs),
	"kubectl in an image":                         scriptOf("docker run --rm -v $PWD:/w x/" + applyCRDs),
	"an address that xargs gets":                  scriptOf("echo " + crdsAt + " | xargs -n1 kubectl apply -f\n"),
	"a command on another machine":                scriptOf("ssh host <<EOF\n" + applyCRDs + "EOF\n"),
	"a command that is evaluated":                 scriptOf("eval \"kubectl apply -f " + crdsAt + "\"\n"),
	"a command in scripts within scripts":         scriptOf(`ssh a 'ssh b "ssh c \"kubectl apply -f ` + crdsAt + `\""'` + "\n"),
	"a command with quotes in quotes":             scriptOf(`ssh a "sudo su -c \"bash -c 'sh -c \\\"kubectl apply -f ` + crdsAt + `\\\"'\""` + "\n"),
	"a text that is run":                          scriptOf("echo 'kubectl apply -f " + crdsAt + "' | sh\n"),
	"addresses in an array":                       scriptOf("CRDS=(\n  " + crdsAt + "\n)\nfor c in \"${CRDS[@]}\"; do kubectl apply -f \"$c\"; done\n"),
	"an Application in a script":                  scriptOf("kubectl apply -f - <<EOF\n" + strings.Replace(gitApplication, "main", "1.0.0", 1) + "EOF\n"),
	"a CRD in a script":                           swapped("up.sh", func(crd string) string { return "kubectl apply -f - <<EOF\n" + crd + "EOF\n" }, inFlux(nil), ""),
	"files that a loop goes through":              swapped("vendor/w/w.yaml", itself, inFlux(files{"up.sh": "for f in vendor/w/*.yaml; do\n  kubectl apply -f \"$f\"\ndone\n"}), ""),
	"files that are found":                        swapped("vendor/w/w.yaml", itself, inFlux(files{"up.sh": "find vendor/w -name '*.yaml' | xargs kubectl apply -f\n"}), ""),
	"arguments in an array":                       scriptOf("args=(apply --server-side -f " + crdsAt + ")\nkubectl \"${args[@]}\"\n"),
	"a folder that is entered":                    swapped("vendor/w/w.yaml", itself, inFlux(files{"up.sh": "cd vendor/w\nkubectl apply -f .\n"}), ""),
	"a command in lines of a pipeline":            stepsOf("    - run: |\n        helm upgrade c r/c \\\n          --version 1.0.0\n"),
	"a script of Terraform's in a list":           bump("tf/main.tf", "resource \"x\" \"c\" {\n  inline = [\n    \"curl -sfL https://get.example.com | VERSION=1.0.0 sh -\",\n  ]\n}\n", inFlux(nil)),
	"a task with arguments":                       bump("azure-pipelines.yml", "steps:\n- task: Kubernetes@1\n  inputs:\n    command: apply\n    arguments: -f "+crdsAt+"\n", inFlux(nil)),
	"a command of Argo CD's":                      scriptOf("argocd app set c --revision 1.0.0\n"),
	"a variable of such a program":                bump("up.py", "v = \"1.0.0\"\nrun([kube, \"create\", \"-f\", f\"https://example.com/{v}/crds.yaml\"])\nkube = \"kubectl\"\n", inFlux(nil)),
	"an address in a variable of one":             bump("up.py", "url = 'https://example.com/1.0.0/crds.yaml'\nrun(['kubectl', 'create', '-f', url])\n", inFlux(nil)),
	"a variable of such a variable":               bump("up.py", "v = '1.0.0'\nurl = 'https://example.com/%s/crds.yaml' % v\nrun(['kubectl', 'create', '-f', url])\n", inFlux(nil)),
	"a variable of a module":                      bump("conf.py", "CRDS = 'https://example.com/1.0.0/crds.yaml'\n", inFlux(files{"up.py": "from conf import CRDS\nrun(['kubectl', 'apply', '-f', CRDS])\n"})),
	"a variable under another name":               bump("deploy/conf/crds.py", "V = '1.0.0'\nCRDS = f'https://example.com/{V}/crds.yaml'\n", inFlux(files{"deploy/up.py": "from .conf import (\n    crds as c,\n)\nrun(['kubectl', 'apply', '-f', c.CRDS])\n"})),
	"a variable of a module of a module":          bump("lib/version.py", "V = '1.0.0'\n", inFlux(files{"deploy/up.py": "import lib.conf as conf\nrun(['kubectl', 'apply', '-f', conf.CRDS])\n", "lib/conf.py": "from .version import V as version\nCRDS = 'https://example.com/%s/crds.yaml' % version\n"})),
	"an argument of a function in Python":         bump("up.py", "def up(url, wait=True):\n    run(['kubectl', 'apply', '-f', url])\nup('https://example.com/1.0.0/crds.yaml')\n", inFlux(nil)),
	"an argument of a function of a module's":     bump("up.py", "from kube import up\nup('https://example.com/1.0.0/crds.yaml')\n", inFlux(files{"kube.py": "def up(url):\n    run(['kubectl', 'apply', '-f', url])\n"})),
	"a command in lines of a list":                bump("up.py", "run(\n    ['kubectl', 'create',\n     '-f', 'https://example.com/1.0.0/crds.yaml'],\n    check=True,\n)\n", inFlux(nil)),
	"a command of a program in Python":            bump("up.py", "run([\"kubectl\", \"apply\", \"-f\", \""+crdsAt+"\"], check=True)\n", inFlux(nil)),
	"a variable that helmfile gets":               scriptOf("V=1.0.0 helmfile -f h.yaml apply\n"),
	"a HelmRelease that a command creates":        scriptOf("flux create helmrelease c --chart=c --chart-version=1.0.0\n"),
	"kind, and another context":                   scriptOf("kind create cluster\nkubectl --context prod apply -f " + crdsAt + "\n"),
	"kind, and a context in a variable":           scriptOf("kind create cluster\nC=prod\nkubectl --context $C apply -f " + crdsAt + "\n"),
	"kind, and a context from outside":            scriptOf("kind create cluster\nkubectl --context \"$PROD\" apply -f " + crdsAt + "\n"),
	"kind in a branch":                            scriptOf("if [ \"$1\" = dev ]; then\n  kind create cluster\nfi\n" + applyCRDs),
	"kind behind a condition":                     scriptOf("[ -n \"$DEV\" ] && kind create cluster\n" + applyCRDs),
	"kind in a function that a branch calls":      scriptOf("dev() { kind create cluster; }\nup() { " + strings.TrimSpace(applyCRDs) + "; }\ncase $1 in\ndev) dev ;;\nup) up ;;\nesac\n"),
	"kind in another target":                      bump("Makefile", "kind:\n\tkind create cluster\nup:\n\t"+applyCRDs, nil),
	"kind in another job":                         bump(workflow, workflowOf("    - uses: helm/kind-action@v1\n")+"  deploy:\n    steps:\n    - run: "+applyCRDs, nil),
	"kind in a step with a condition":             stepsOf("    - uses: helm/kind-action@v1\n      if: inputs.local\n    - run: " + applyCRDs),
	"kind, and credentials of another cluster":    stepsOf("    - uses: helm/kind-action@v1\n    - run: aws eks update-kubeconfig --name prod\n    - run: " + applyCRDs),
	"kind, and an action for a cluster of Google": stepsOf("    - uses: helm/kind-action@v1\n    - uses: google-github-actions/get-gke-credentials@v2\n    - run: " + applyCRDs),
	"kind, and an action for a cluster of Azure":  stepsOf("    - uses: helm/kind-action@v1\n    - uses: azure/aks-set-context@v4\n    - run: " + applyCRDs),
	"kind, and an action that sets a kubeconfig":  stepsOf("    - uses: helm/kind-action@v1\n    - uses: acme/setup-kubeconfig@v1\n    - run: " + applyCRDs),
	"kind, and an action that is not known":       stepsOf("    - uses: helm/kind-action@v1\n    - uses: acme/connect@v1\n    - run: " + applyCRDs),
	"kind, and another context of kubectx":        scriptOf("kind create cluster\nkubectx prod\n" + applyCRDs),
	"kind, and a kubeconfig of a pipeline's":      bump(workflow, "env: {KUBECONFIG: /prod}\n"+workflowOf("    - uses: helm/kind-action@v1\n    - run: "+applyCRDs), nil),
	"kind, and a kubeconfig of another cluster's": scriptOf("kind create cluster\nKUBECONFIG=/prod " + applyCRDs),
}

// What goes to a cluster that the same job has created changes no cluster that stays. Nor does what people only read.
func TestACommandForNoClusterThatStaysIsNoReasonToAsk(t *testing.T) {
	for name, c := range map[string]overlooked{
		"a script with kind":                        scriptOf("kind create cluster --name e2e\nkubectl --context kind-e2e apply -f " + crdsAt + "\nhelm upgrade c r/c --version 1.0.0\n"),
		"kind, if there is none yet":                scriptOf("if ! kind get clusters | grep -q e2e; then\n  kind create cluster --name e2e\nfi\n" + applyCRDs),
		"kind in a function":                        scriptOf("up() {\n  kind create cluster --name \"$1\"\n}\nup e2e\n" + applyCRDs),
		"kind with a kubeconfig of its own":         scriptOf("kind create cluster --kubeconfig \"$KC\"\nkubectl --kubeconfig \"$KC\" apply -f " + crdsAt + "\n"),
		"a kubeconfig that is handed on":            scriptOf("up() {\n  kubectl --kubeconfig \"$1\" apply -f " + crdsAt + "\n}\nkind create cluster\nkind get kubeconfig > \"$DIR/kc\"\nup \"$DIR/kc\"\n"),
		"minikube":                                  scriptOf("minikube start\n" + applyCRDs),
		"k3d":                                       scriptOf("k3d cluster create\n" + applyCRDs),
		"a job with an action that creates it":      stepsOf("    - uses: helm/kind-action@v1\n    - run: " + applyCRDs + "    - run: helm upgrade c r/c --version 1.0.0\n"),
		"a job that prepares itself":                stepsOf("    - uses: actions/checkout@v4\n    - uses: actions/setup-go@v5\n    - uses: helm/kind-action@v1\n    - run: " + applyCRDs),
		"a step that creates it":                    stepsOf("    - run: |\n        kind create cluster\n        " + applyCRDs),
		"a target that creates it":                  bump("Makefile", "e2e:\n\tkind create cluster\n\t"+applyCRDs, inFlux(nil)),
		"a text that is printed":                    scriptOf("echo \"" + strings.TrimSpace(applyCRDs) + "\"\n"),
		"how to call a script":                      scriptOf("usage() {\n  cat <<EOF\n" + applyCRDs + "EOF\n}\n"),
		"the name of a step":                        stepsOf("    - name: " + strings.TrimSpace(applyCRDs) + "\n      run: make\n"),
		"a comment behind a command":                scriptOf("make # " + applyCRDs),
		"a script that installs a program":          scriptOf("curl -sSfL https://example.com/install.sh | sh -s -- -b bin v1.0.0\n"),
		"an address that is asked, beside a folder": bump("up.sh", "curl https://example.com/1.0.0/healthz\nkubectl apply -f crds\n", inFlux(nil)),
	} {
		t.Run(name, func(t *testing.T) {
			g := c.write(t)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline")
			g.Expect(code).To(Equal(cli.ExitDone), out+errOut)
		})
	}
}
