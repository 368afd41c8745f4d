package desired

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/moult-dev/moult/policies/delivery"
)

var (
	ofYAML = regexp.MustCompile(`\.ya?ml(?:\.j2)?$`)
	// ofCommands are files that may have commands: those without an ending, such as Makefile and Jenkinsfile, scripts, and what pipelines
	// are written in.
	ofCommands = regexp.MustCompile(`/(?:[^/.]+|[^/]*[Mm]akefile[^/]*|[^/]*\.(?:mk|sh|bash|zsh|ps1|groovy|nix|toml|cfg|tf|tofu|tpl|tftpl|ya?ml|ya?ml\.j2)|package\.json)$`)
	// givingVariables are those of them, and more files, in which commands of other files may find the values of their variables.
	givingVariables = regexp.MustCompile(`/(?:[^/.]+|[^/]*[Mm]akefile[^/]*|[^/]*\.(?:mk|sh|bash|env)|\.env[^/]*|\.[^/]+/.*\.ya?ml|\.[^/]+\.ya?ml|[Tt]askfile\.ya?ml)$`)
	// applying is a command in one line, in lines that go on, or in a list of arguments, or one to which another pipes what it has fetched.
	applying = regexp.MustCompile(`(?:\b(?:curl|wget)\b|https?://|github\.com/)(?:[^\n]|[\\|]\n)*\|(?:[^\n]|[\\|]\n)*\b(?:kubectl|oc)\b[^\n]*\b(?:apply|create|replace)\b` + restOfCommand + `|` + kubectl + `\b(?:apply|create|replace)\b` + goesOn + `(?:https?://|github\.com/|-[fk][\s"',]+(?:\$|\{\{))[^\n]*(?:\n[\s"',-]*(?:-[fk]\b|--filename|https?://)[^\n]*)*`)
	// appliesFiles is a command that applies files, wherever they are from, in its whole line.
	appliesFiles = regexp.MustCompile(`[^\n]*(?:` + kubectl + `\b(?:apply|create|replace)\b` + goesOn + `(?:-[fk]\b|--filename|--kustomize)|\b(?:helm|HELM)\b` + goesOn + `\b(?:upgrade|install)\b)` + restOfCommand)
	// fetching is what brings or changes the files of such a command.
	fetching = regexp.MustCompile(`\bgit\b[^\n]{0,100}?\b(?:clone|checkout|switch|fetch|pull|reset|submodule)\b` + restOfCommand +
		`|\b(?:curl|wget)\b` + goesOn + `https?://[^\n]*(?:\.(?:ya?ml|json|tgz|zip|tar)\b|archive/|tarball|\$)` + restOfCommand +
		`|\b(?:helm|HELM|flux|oras|crane|skopeo|gh|kpt|aws|gsutil)\b` + goesOn + `\b(?:pull|fetch|template|download|copy|cp|export|get)\b` + restOfCommand +
		`|\bkustomize\b` + goesOn + `(?:https?://|github\.com/)[^\n]*|\bADD\s+https?://[^\n]*|(?m:^)[\s"'-]*https?://[^\n]*|\b(?:sed|yq|jq|perl)\b[^\n]*\b(?:versions|served|storage)\b[^\n]*|\brepository:[^\n]*(?:\n\s+[\w-]+:[^\n]*)*`)
	// ofProgram is in the address of a program, which brings no manifests by itself.
	ofProgram = regexp.MustCompile(`(?i)linux|darwin|amd64|arm64|x86_64|/bin/|\.sh\b`)
	// bringing are tools that bring manifests of their own, each by its name in variables and addresses. installing is a command of one.
	bringing   = []string{"clusterctl", "cilium", "istio", "linkerd", "flux", "velero", "kapp", "operator-sdk"}
	installing = regexp.MustCompile(`\b(?:` + strings.Join(bringing, "|") + `)(?:ctl)?["',]*(?:[ \t]|\n\s*-\s)` + goesOn + `\b(?:init|install|upgrade|deploy|bundle|bootstrap)\b`)
	// variable is one that a command names.
	variable = regexp.MustCompile(`\{\{-?\s*(?:[\w-]*\.)*(\w+)|\$[({]*(\w+)`)
	// function is the name of one that a script or a Makefile defines.
	function = regexp.MustCompile(`(?m)^\s*(?:(?:function\s+)?([\w-]+)\s*\(\)|(?:function|define)\s+([\w-]+))`)
	// printed are the columns of awk, which are written like arguments of a script.
	printed = regexp.MustCompile(`\bprint\b[^}]*`)
	// fromFile is what takes a value from a file.
	fromFile = regexp.MustCompile(`(?:\b(?:cat|yq|jq|grep|sed|awk|head|source)\b|<)[^\n|)]*`)
)

const (
	goesOn        = `(?:(?:[^\n]|\\\n)*?|(?:\S|\n[ \t]*-[ \t]+)*?)`
	restOfCommand = `(?:[^\n]*\\\n)*[^\n]*(?:\n[ \t]*-[ \t]+\S+(?m:$))*`
	// kubectl and helm begin a command; where an image has the program, there are only its arguments.
	kubectl = `(?:\b(?:kubectl|KUBECTL|oc|OC)\b` + goesOn + `|-\s["']?)`
	helm    = `(?:\b(?:helm|HELM)\b` + goesOn + `|-\s["']?)`
)

// findCommands notes an object whose commands install or delete what is in no manifest, of whatever kind it is.
func (f *follower) findCommands(object *delivery.Object, u *delivery.Unit) {
	if object.IsCRD() || delivers(object) || isRelease(object) {
		return
	}
	says := maps.Clone(object.Object)
	delete(says, "metadata")
	delete(says, "status")
	raw, err := json.Marshal(says)
	if err != nil {
		return
	}
	about, text := "", []byte(nil)
	for _, tool := range others {
		if !tool.only || !tool.mayBeIn(raw) {
			continue
		}
		if text == nil {
			text, _ = yaml.Marshal(says) // lines, as a person writes them
		}
		commands, _ := commandsIn(tool, string(text))
		about += commands
	}
	if about == "" {
		return
	}
	p := &fingerprint{follower: f, sum: sha256.New(), objects: map[*unstructured.Unstructured]bool{}}
	p.write("commands", about)
	p.lent(object.GetNamespace(), "", object.Field("spec")) // variables may be there
	f.cluster.Unseen = append(f.cluster.Unseen, delivery.Unseen{
		Name: delivery.WithoutHash(nameOf(object, u)), By: object, Why: "a command in it installs, changes or deletes what is in no manifest", Fingerprint: hex.EncodeToString(p.sum.Sum(nil)),
	})
}

// commandsIn are those of a tool in a text, with what gives values to their variables, and the variables to which nothing in it does.
func commandsIn(tool otherTool, text string) (commands string, open []string) {
	near := around(text, tool.words)
	if tool.beside != nil {
		if !tool.beside.MatchString(near) {
			return "", nil
		}
		near = around(text, tool.near)
	}
	found := slices.DeleteFunc(tool.holds.FindAllString(near, -1), func(one string) bool { return tool.but != nil && tool.but.MatchString(one) })
	if len(found) == 0 {
		return "", nil
	}
	given, open := definitions(text, found)
	return strings.Join(found, "\n") + given, open
}

// around are the lines of a text near those with some of a tool's words: expressions take long for a large text.
func around(text string, words []string) string {
	if len(words) == 0 {
		return text
	}
	const reach = 30
	var near strings.Builder
	lines, next := strings.SplitAfter(text, "\n"), 0
	for i, line := range lines {
		if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line, word) }) {
			for next = max(next, i-reach); next < len(lines) && (next < i+reach || strings.HasSuffix(lines[next-1], "\\\n")); next++ {
				near.WriteString(lines[next])
			}
		}
	}
	return near.String()
}

// mostVariables are looked up, each in a whole text. Where there are more, all of the text counts.
const mostVariables = 100

// definitions are the lines of a text that give values to the variables that others of its lines name. Open are variables without any.
func definitions(text string, named []string) (lines string, open []string) {
	var found strings.Builder
	for known := map[string]bool{}; len(named) > 0; named = named[1:] {
		for _, one := range variable.FindAllStringSubmatch(printed.ReplaceAllString(named[0], ""), -1) {
			name := one[1] + one[2]
			if known[name] {
				continue
			}
			if known[name] = true; len(known) > mostVariables {
				return text, nil
			}
			giving := givingIn(text, name).FindAllString(text, -1)
			if len(giving) == 0 {
				open = append(open, name)
			}
			for _, line := range giving {
				found.WriteString(line + "\n")
				named = append(named, line)
			}
		}
	}
	return found.String(), open
}

// givingIn finds what gives a value to a variable of a text. An argument is given where one of its functions is called.
func givingIn(text, name string) *regexp.Regexp {
	if _, err := strconv.Atoi(name); err == nil {
		var functions []string
		for _, function := range function.FindAllStringSubmatch(text, -1) {
			functions = append(functions, function[1]+function[2])
		}
		return regexp.MustCompile(`(?m)^.*\b(?:` + cmp.Or(strings.Join(functions, "|"), `\z.`) + `)[ ,].*$`)
	}
	return regexp.MustCompile(`(?m)^(?:.*[^\w\n-])?` + name + `["']?(?:\s*[:?+]{0,2}[:=](?:\\\n|[^\n])*(?:\n\s+(?:description|required|type|default|options|sh):[^\n]*)*|\s+in\b[^\n]*|\s*\n\s*value:[^\n]*)`)
}

// elsewhere are the lines of other files that give values to the variables of commands in a file, and what these read values from. An argument
// of a script is given where the script is named.
func (e *everywhere) elsewhere(file, commands string, open []string) string {
	var found strings.Builder
	for _, from := range e.namedIn(file, strings.Join(fromFile.FindAllString(commands, -1), "\n")) {
		if info, err := os.Stat(from); err == nil && info.Mode().IsRegular() {
			found.WriteString(e.sumOf(from))
		}
	}
	if len(open) == 0 {
		return found.String()
	}
	for i, name := range open {
		open[i] = `(?:export\s+|-\s+)?` + name + `["']?\s*[:?+]{0,2}[:=]`
		if _, err := strconv.Atoi(name); err == nil {
			open[i] = `[^\n]*\b` + regexp.QuoteMeta(filepath.Base(file)) + `\b`
		}
	}
	giving := regexp.MustCompile(`(?m)^\s*(?:` + strings.Join(open, "|") + `)[^\n]*`)
	for _, other := range e.textsOf(givingVariables) {
		for _, line := range giving.FindAllString(other.text, -1) {
			e.tree.Reads.File(other.file)
			found.WriteString(line + "\n")
		}
	}
	return found.String()
}
