package desired

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path"
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
	ofCommands = regexp.MustCompile(`/(?:[^/.]+|[^/]*[Mm]akefile[^/]*|[^/]*\.(?:mk|sh|bash|zsh|bats|ps1|py|groovy|nix|toml|cfg|tf|tofu|tpl|tftpl|ya?ml|ya?ml\.j2)|package\.json)$`)
	// givingVariables are those of them, and more files, in which commands of other files may find the values of their variables.
	givingVariables = regexp.MustCompile(`/(?:[^/.]+|[^/]*[Mm]akefile[^/]*|[^/]*\.(?:mk|sh|bash|env)|\.env[^/]*|\.[^/]+/.*\.ya?ml|\.[^/]+\.ya?ml|[Tt]askfile\.ya?ml)$`)
	// ofProgram is in the address of a program, which brings no manifests by itself, or in the name of an image that has such programs. ofItself
	// is in a script that installs nothing but a program.
	ofProgram = regexp.MustCompile(`(?i)linux|darwin|amd64|arm64|x86_64|/bin/|^image: .*(?:kubectl|k8s|kube-?tools|helm|alpine|/cli|bash|busybox|curl)`)
	ofItself  = regexp.MustCompile(`\s-b\s|get-helm|install_kustomize|rustup|docker|golangci`)
	// address is a line with nothing but an address.
	address = regexp.MustCompile(`(?m)^[\s"'-]*https?://\S*[\s"']*$`)
	// variable is one that a command names.
	variable = regexp.MustCompile(`\{\{-?\s*(?:[\w-]*\.)*(\w+)|\$[({]*(\w+)`)
	// function is the name of one that a script or a Makefile defines.
	function = regexp.MustCompile(`(?m)^\s*(?:(?:function\s+)?([\w-]+)\s*\(\)|(?:function|define)\s+([\w-]+))`)
	// printed are the columns of awk, which are written like arguments of a script.
	printed = regexp.MustCompile(`\bprint\b[^}]*`)
	// fromFile is what takes a value from a file.
	fromFile = regexp.MustCompile(`(?:\b(?:cat|yq|jq|grep|sed|awk|head|source)\b|<)[^\n|)]*`)
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
	if err != nil || !running.Match(raw) && !bytes.Contains(raw, []byte("crd")) {
		return
	}
	text, _ := yaml.Marshal(says) // lines, as a person writes them
	found := commandsIn("object.yaml", text)
	if found.about == "" {
		return
	}
	p := &fingerprint{follower: f, sum: sha256.New(), objects: map[*unstructured.Unstructured]bool{}}
	p.write("commands", found.about)
	p.lent(object.GetNamespace(), "", object.Field("spec")) // variables may be there
	f.cluster.Unseen = append(f.cluster.Unseen, delivery.Unseen{
		Name: delivery.WithoutHash(nameOf(object, u)), By: object, Why: "a command in it installs, changes or deletes what is in no manifest", Fingerprint: hex.EncodeToString(p.sum.Sum(nil)),
	})
}

// commands are those of a file that matter for CRDs.
type commands struct {
	// about are those that bring what no file of the repository shows, with what gives values to their variables. Open are the variables to which
	// nothing in the file gives one.
	about string
	open  []string
	// applied are the commands that apply files, with the same.
	applied string
}

// judged is a statement, and what its commands do.
type judged struct {
	statement
	does effect
}

// commandsIn reads a file. Its lines without comments are given to the shell.
func commandsIn(file string, content []byte) (found commands) {
	text := plainText(string(content))
	first, _, _ := strings.Cut(string(content), "\n")
	all, does, bundle := judgedIn(jobsIn(file, first, text), text)
	var counts, applied []string
	for _, one := range all {
		if one.counts(does) {
			counts = append(counts, one.text)
		}
		if does&applies != 0 && one.does&(applies|enters) != 0 {
			applied = append(applied, one.text)
		}
	}
	if does&applies != 0 {
		counts = append(counts, address.FindAllString(text, -1)...)
	}
	if len(bundle) > 0 { // the lines about their releases, wherever these are
		release := regexp.MustCompile(`[^\n]*(?i:` + strings.Join(bundle, "|") + `)[^\n]*\d\.\d[^\n]*`)
		for _, one := range all {
			counts = append(counts, release.FindAllString(one.text, -1)...)
		}
		counts = append(counts, release.FindAllString(text, -1)...)
	}
	if len(counts) > 0 {
		given, open := definitions(text, counts)
		found.about, found.open = strings.Join(counts, "\n")+given, open
	}
	if len(applied) > 0 {
		given, _ := definitions(text, applied)
		found.applied = strings.Join(applied, "\n") + given
	}
	return found
}

// judgedIn are the statements of jobs that go to a cluster that stays, and all that they do.
func judgedIn(jobs []job, text string) (found []judged, does effect, bundle []string) {
	var all []statement
	for _, one := range jobs {
		all = append(all, one.statements...)
	}
	stands := standing(text, all)
	for _, job := range jobs {
		if job.goesToThrowaway(stands) {
			continue
		}
		for _, one := range job.statements {
			now := judged{statement: one}
			for _, command := range one.commands {
				effect, program := command.does(stands)
				if now.does |= effect; effect&brings != 0 && bundled[program] != "" {
					bundle = append(bundle, bundled[program])
				}
			}
			found, does = append(found, now), does|now.does
		}
	}
	runLoaded(found, stands)
	return found, does, bundle
}

// runLoaded notes the statements that load a script which another one runs.
func runLoaded(all []judged, stands map[string]call) {
	executed := map[string]bool{} // scripts, by their names
	for _, one := range all {
		for _, command := range one.commands {
			does, _ := command.does(stands)
			for i, word := range command {
				if name := path.Base(word); does&runs != 0 && i > 0 || i == 0 && ofShell.MatchString(name) {
					executed[name] = true
				}
			}
		}
	}
	for i, one := range all {
		if one.does&loads != 0 && slices.ContainsFunc(slices.Concat(one.commands...), func(word string) bool { return executed[path.Base(word)] }) {
			all[i].does |= runs
		}
	}
}

// counts reports whether a statement matters for CRDs, in a file whose commands do all of this.
func (j judged) counts(all effect) bool {
	switch {
	case j.unread, j.does&brings != 0, j.does&applies != 0 && (j.does&loads != 0 || strings.Contains(j.text, "https://")):
		return true
	case j.does&loads != 0 && j.does&runs != 0:
		return !ofItself.MatchString(j.text)
	case j.does&fetches != 0 && all&applies != 0:
		return !ofProgram.MatchString(j.text)
	}
	return j.does&applies != 0 && slices.ContainsFunc(j.documents, func(document string) bool {
		return mayDeclare([]byte(document)) || mayDeliver([]byte(document)) || ofInstallers.MatchString(document)
	})
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
