// Package commands finds commands that bring CRDs to a cluster, in scripts, Makefiles, pipelines and specs of containers. They apply files,
// fetch them, or install what no file of the repository shows. Nothing is run: a text is parsed as a shell would, as far as it can be.
//
// Start with In in commands.go. scripts.go takes a file apart into jobs, shell.go and pipelines.go these into statements, and effects.go
// has the rules for what a program does. throwaway.go passes over jobs that install into a cluster of their own.
package commands

import (
	"cmp"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/detect"
)

var (
	// ofCommands are files that may have commands: those without an ending, such as Makefile and Jenkinsfile, scripts, and what pipelines
	// are written in.
	ofCommands = regexp.MustCompile(`/(?:[^/.]+|[^/]*[Mm]akefile[^/]*|[^/]*\.(?:mk|sh|bash|zsh|bats|ps1|py|groovy|nix|toml|cfg|tf|tofu|tpl|tftpl|ya?ml|ya?ml\.j2)|package\.json)$`)
	// ofProgram is in the address of a program, which brings no manifests by itself, or in the name of an image that has such programs. ofItself
	// is in a script that installs nothing but a program.
	ofProgram = regexp.MustCompile(`(?i)linux|darwin|amd64|arm64|x86_64|/bin/|^image: .*(?:kubectl|k8s|kube-?tools|helm|alpine|/cli|bash|busybox|curl)`)
	ofItself  = regexp.MustCompile(`\s-b\s|get-helm|install_kustomize|rustup|docker|golangci`)
	// address is a line with nothing but an address.
	address = regexp.MustCompile(`(?m)^[\s"'-]*(?:f["'])?https?://\S*[\s"']*$`)
	// variable is one that a command names.
	variable = regexp.MustCompile(`\{\{-?\s*(?:[\w-]*\.)*(\w+)|\$[({]*(\w+)`)
	// ofPrograms are files in languages whose variables have no sign, and anyName is what may be one there.
	ofPrograms = regexp.MustCompile(`\.(?:py|groovy|nix)$`)
	anyName    = regexp.MustCompile(`()([A-Za-z_]\w*)`)
	// function is the name of one that a script or a Makefile defines.
	function = regexp.MustCompile(`(?m)^\s*(?:(?:function\s+)?([\w-]+)\s*\(\)|(?:function|define)\s+([\w-]+))`)
	// printed are the columns of awk, which are written like arguments of a script.
	printed = regexp.MustCompile(`\bprint\b[^}]*`)
)

// Found are the commands of a file that matter for CRDs.
type Found struct {
	// About are those that bring what no file of the repository shows, with what gives values to their variables. Open are the variables to which
	// nothing in the file gives one.
	About string
	Open  []string
	// Applied are the commands that apply files, with the same.
	Applied string
}

// MayBeIn reports by its path with slashes whether a file may have commands.
func MayBeIn(file string) bool { return ofCommands.MatchString(file) }

// judged is a statement, and what its commands do.
type judged struct {
	statement
	does effect
}

// In reads a file. Its lines without comments are given to the shell.
func In(file string, content []byte) (found Found) {
	if detect.YAML.MatchString("/" + filepath.Base(file)) {
		content = withoutCRDs(content)
	}
	text := detect.WithoutComments(string(content))
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
	if len(applied) > 0 {
		given, _ := definitionsIn(file, text, applied)
		if found.Applied = strings.Join(applied, "\n") + given; ofPrograms.MatchString(file) && strings.Contains(given, "https://") {
			counts = append(counts, applied...)
		}
	}
	if len(counts) > 0 {
		given, open := definitionsIn(file, text, counts)
		found.About, found.Open = strings.Join(counts, "\n")+given, open
	}
	return found
}

// judgedIn are the statements of jobs that go to a cluster that stays, and all that they do.
func judgedIn(jobs []job, text string) (found []judged, does effect, bundle []string) {
	var all []statement
	for _, one := range jobs {
		all = append(all, one.statements...)
	}
	if len(all) == 0 {
		return nil, 0, nil // of a manifest, most often
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

// withoutDocuments is the text of a statement without the manifests in it, whose addresses are for people and other programs.
func (j judged) withoutDocuments() string {
	text := j.text
	for _, document := range j.documents {
		text = strings.ReplaceAll(text, strings.TrimSpace(document), "")
	}
	return text
}

// counts reports whether a statement matters for CRDs, in a file whose commands do all of this.
func (j judged) counts(all effect) bool {
	switch {
	case j.unread, j.does&brings != 0, j.does&applies != 0 && (j.does&loads != 0 || strings.Contains(j.withoutDocuments(), "https://")):
		return true
	case j.does&loads != 0 && j.does&runs != 0:
		return !ofItself.MatchString(j.text)
	case j.does&fetches != 0 && all&applies != 0:
		return !ofProgram.MatchString(j.text)
	}
	return j.does&applies != 0 && slices.ContainsFunc(j.documents, func(document string) bool {
		return detect.MayDeclare([]byte(document)) || detect.MayDeliver([]byte(document)) || detect.Installer.MatchString(document)
	})
}

// MostVariables are looked up, each in a whole text. Where there are more, all of the text counts.
const MostVariables = 100

// Definitions are the lines of a text that give values to the variables that others of its lines name. Open are variables without any.
func Definitions(text string, named []string) (lines string, open []string) {
	return definitions(text, named, variable)
}

// definitionsIn are the same of a file. Any name may be a variable in a program, so not all without a value are open.
func definitionsIn(file, text string, named []string) (lines string, open []string) {
	lines, open = Definitions(text, named)
	if ofPrograms.MatchString(file) {
		lines, _ = definitions(text, named, anyName)
	}
	return lines, open
}

func definitions(text string, named []string, variable *regexp.Regexp) (lines string, open []string) {
	var found strings.Builder
	var called *calls
	if variable == anyName {
		called = callsIn(text)
	}
	for known := map[string]bool{}; len(named) > 0; named = named[1:] {
		for _, one := range variable.FindAllStringSubmatch(printed.ReplaceAllString(named[0], ""), -1) {
			name := one[1] + one[2]
			if known[name] {
				continue
			}
			if known[name] = true; len(known) > MostVariables {
				return text, nil
			}
			giving := givingIn(text, name)
			if called != nil {
				giving = append(giving, called.with(name)...)
			}
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

// givingIn are the lines of a text that give a value to a variable of it. An argument is given where one of its functions is called.
func givingIn(text, name string) (lines []string) {
	if _, err := strconv.Atoi(name); err == nil {
		var functions []string
		for _, function := range function.FindAllStringSubmatch(text, -1) {
			functions = append(functions, function[1]+function[2])
		}
		return regexp.MustCompile(`(?m)^.*\b(?:`+cmp.Or(strings.Join(functions, "|"), `\z.`)+`)[ ,].*$`).FindAllString(text, -1)
	}
	giving := regexp.MustCompile(`^(?:.*\bdefine\s+` + name + `\b(?s:.*?)\n\s*endef|(?:.*[^\w\n-])?` + name + `["']?(?:\s*[:?+!]{0,3}[:=](?:\\\n|[^\n])*(?:\n\s+(?:description|required|type|default|options|sh|value):[^\n]*)*|\s+in\b[^\n]*|\s*\n\s*value:[^\n]*))`)
	for { // only lines with the name are looked at: there are many others
		at := strings.Index(text, name)
		if at < 0 {
			return lines
		}
		text = text[strings.LastIndexByte(text[:at], '\n')+1:]
		end := strings.IndexByte(text, '\n') + 1
		if found := giving.FindStringIndex(text); found != nil {
			lines, end = append(lines, text[:found[1]]), found[1]
		} else if end == 0 {
			return lines
		}
		text = text[end:]
	}
}
