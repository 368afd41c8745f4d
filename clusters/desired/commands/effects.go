package commands

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// effect is what a command does about CRDs.
type effect uint

const (
	// brings: what no file of the repository shows. The command counts.
	brings effect = 1 << iota
	// applies: files. Those of the repository are looked at, and the commands count that fetch others.
	applies
	// fetches: files that another command may apply.
	fetches
	// loads: what is at an address. It counts if the same statement applies or runs it.
	loads
	// runs: the commands of a file, or those that it reads.
	runs
	// enters: a folder, which may have what another command applies.
	enters
	// creates: a cluster to throw away.
	creates
)

// rule is about some programs. More than one may hold for a command.
type rule struct {
	// programs are names. A step of a pipeline is named for its key, and $ stands for a variable that has no known value.
	programs string
	// verbs are words of which one is an argument, and with is what all arguments together hold; any if empty.
	verbs string
	with  *regexp.Regexp
	does  effect
}

var rules = []rule{
	{"kubectl oc $", "apply create replace", regexp.MustCompile(` (?:-[fk]|--filename|--kustomize)`), applies},
	{"kubectl oc $", "apply create replace", regexp.MustCompile(` (?:-[fk]|--filename|--kustomize)[ =]?\S*(?:https?://|github\.com/|\$|\{\{)`), brings},
	{"kubectl oc $", "delete patch replace edit", regexp.MustCompile(` (?:crds?|customresourcedefinitions?)(?:\.apiextensions\.k8s\.io)?(?:[ /]|$)`), brings},
	{"kubectl oc helm", "", regexp.MustCompile(`\$\{\w+\[[@*]\]\}`), applies | brings},
	{"helm $", "upgrade install", nil, applies},
	{"helm $", "upgrade install", regexp.MustCompile(`--version|--repo|oci://|https?://|(?i:crd)`), brings},
	{"helm flux oras crane skopeo gh aws gsutil", "pull fetch template download copy cp export sync", nil, fetches},
	{"kpt", "get update", nil, fetches},
	{"git", "clone checkout switch fetch pull reset submodule", nil, fetches},
	{"kustomize", "", regexp.MustCompile(`https?://|github\.com/`), fetches | loads},
	{"curl wget ADD", "", regexp.MustCompile(`https?://\S*(?:\.(?:ya?ml|json|tgz|zip|tar)\b|archive/|tarball|\$|\{\{)`), fetches},
	{"curl wget", "", regexp.MustCompile(`https?://|\$|\{\{`), loads},
	{"curl wget", "", regexp.MustCompile(`/apis/apiextensions\.k8s\.io/\S*/customresourcedefinitions`), brings},
	{"sed yq jq perl", "", regexp.MustCompile(`\b(?:versions|served|storage)\b`), fetches},
	{"sh bash zsh dash ash eval source . python python3", "", nil, runs},
	{strings.Join(slices.Collect(maps.Keys(bundled)), " "), "init install upgrade deploy bundle bootstrap", nil, brings},
	{"argocd", "create set add sync", nil, brings},
	{"flux", "create", nil, brings},
	{"helmfile", "apply sync", nil, brings},
	{"kind k3d ctlptl", "create", nil, creates},
	{"minikube", "start", nil, creates},
	{"uses:", "", regexp.MustCompile(` chart[\w-]*=`), brings},
	{"uses:", "", regexp.MustCompile(`(?i)checkout.* repository=`), fetches},
	{"uses:", "", regexp.MustCompile(`/(?:[\w-]*-)?(?:kind|minikube|k3d)(?:-[\w-]*)?@`), creates},
	{"task:", "", regexp.MustCompile(`HelmDeploy`), brings},
	{"uses: task:", "", regexp.MustCompile(`https?://\S*(?:\.ya?ml|\.json|\.tgz|/crds?)\b`), brings},
	{"cd pushd", "", nil, enters},
	{"repository:", "", nil, fetches},
	{"image:", "", regexp.MustCompile(`\bcrds?\b`), brings},
	{"image:", "", nil, fetches},
}

// bundled are programs that bring manifests of their own, each with its name in variables and addresses.
var bundled = map[string]string{
	"clusterctl": "clusterctl", "cilium": "cilium", "istioctl": "istio", "linkerd": "linkerd", "flux": "flux", "velero": "velero", "kapp": "kapp", "operator-sdk": "operator-sdk",
	"kumactl": "kuma", "consul-k8s": "consul", "glooctl": "gloo", "cmctl": "cert-manager", "nelm": "nelm", "timoni": "timoni", "zarf": "zarf", "karmadactl": "karmada",
	"liqoctl": "liqo", "subctl": "submariner", "clusteradm": "clusteradm", "argocd-autopilot": "autopilot", "helmwave": "helmwave",
}

// byProgram are the rules by the names of programs.
var byProgram = func() map[string][]rule {
	found := map[string][]rule{}
	for _, one := range rules {
		for program := range strings.FieldsSeq(one.programs) {
			found[program] = append(found[program], one)
		}
	}
	return found
}()

// call is a program with its arguments, as written and without quotes.
type call []string

var (
	// printing are programs that show their arguments, or look for them, by the usual names of a script's own functions.
	printing = regexp.MustCompile(`^_?(?:e?grep|rg|sed|awk|echo|printf?|log|info|debug|warn|warning|error|err|die|fail|fatal|success|ok|say|msg|message|usage|title|header|banner|note)(?:[_.:](?:info|debug|warn\w*|err\w*|success|step|msg|message|line))*$`)
	// decoration is what the name of a program may have around it: the signs of a variable or a list, a default, an ending, a version.
	decoration = regexp.MustCompile(`^[$({\["'@]+(?:(?:which|command -v|type -p) +)?|:?[-=?].*\}$|[)}\],"']+$|\.exe$|[-_](?:BIN|CMD|bin|cmd|v?\d[\w.-]*)$`)
)

func (c call) isPrinting() bool { return printing.MatchString(path.Base(c[0])) }

// readsCommands reports whether the arguments, or what is piped in, are commands.
func (c call) readsCommands() bool {
	name, _ := c.program(nil)
	return slices.ContainsFunc(byProgram[name], func(one rule) bool { return one.does == runs }) || path.Base(c[0]) == "ssh"
}

// longestName is the length of a word that may be the name of a program, with its decoration.
const longestName = 200

// undecorated is a name without its decoration.
func undecorated(word string) string {
	for range 3 { // one may be within another
		word = decoration.ReplaceAllString(word, "")
	}
	return path.Base(word)
}

// program is the one that a command runs, with its arguments. It may stand behind others, such as sudo, xargs and timeout, or in a variable.
// Standing are the commands that names of the script stand for.
func (c call) program(standing map[string]call) (name string, args call) {
	if len(c) == 0 || c.isPrinting() {
		return "", nil
	}
	for i, word := range c {
		if len(word) > longestName {
			continue
		}
		name := undecorated(word)
		if stands := standing[name]; stands != nil {
			return slices.Concat(stands, c[i+1:]).program(nil)
		}
		if strings.ContainsAny(word, "$({[") {
			name = strings.ToLower(name)
		}
		known := byProgram[name] != nil
		if i > 0 && slices.Contains([]string{".", "source", "eval", "ADD", "cd", "pushd"}, name) {
			known = false
		}
		if known {
			return name, c[i+1:]
		}
	}
	if strings.HasPrefix(c[0], "$") {
		return "$", c[1:]
	}
	return "", nil
}

// does is all that a command does, and the program that does it.
func (c call) does(standing map[string]call) (does effect, program string) {
	program, args := c.program(standing)
	all := " " + strings.Join(args, " ")
	for _, one := range byProgram[program] {
		hasVerb := one.verbs == "" || slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(strings.Fields(one.verbs), arg) })
		if hasVerb && (one.with == nil || one.with.MatchString(all)) {
			does |= one.does
		}
	}
	if does == runs { // its arguments may be a command, too
		more, within := args.does(standing)
		return does | more, cmp.Or(within, program)
	}
	return does, program
}

var (
	// assigned is a name that stands for a command: a variable or an alias.
	assigned = regexp.MustCompile(`(?m)(?:([\w-]+)[ \t]*[:?]?=|([A-Z][A-Z_]*)["']?:)[ \t]*["']?((?:\$\((?:which|command -v) +)?[\w./${}-]*\b(?:kubectl|oc|helm|` + strings.Join(slices.Collect(maps.Keys(bundled)), "|") + `)(?:[ \t)}][^"'\n;#&|]*)?)["']?[ \t]*(?:$|[;#&,}])`)
	// handsOn is the end of a function's command to which it gives its own arguments.
	handsOn = []string{"$@", "$*", "${@}"}
)

// standing are the names in a text that stand for commands, and the functions that give their arguments to one.
func standing(text string, statements []statement) map[string]call {
	found := map[string]call{}
	for _, one := range assigned.FindAllStringSubmatch(text, -1) {
		found[one[1]+one[2]] = strings.Fields(one[3])
	}
	for _, one := range statements {
		for _, command := range one.commands {
			if last := len(command) - 1; one.function != "" && last > 0 && slices.Contains(handsOn, command[last]) {
				found[one.function] = command[:last]
			}
		}
	}
	return found
}
