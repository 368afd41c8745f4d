package commands

import (
	"bytes"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/detect"
)

// job is what runs together: a script, a target of a Makefile, or a job of a pipeline.
type job struct {
	statements []statement
	text       string
}

// running are programs of commands that matter. Known finds all programs that the rules are about, in a part of a file that has one of these.
var (
	running = append(slices.Sorted(maps.Keys(bundled)), "kubectl", "oc", "helm", "helmfile", "argocd", "curl", "wget", "apply -")
	known   = regexp.MustCompile(`(?i)(?:\b|_)(?:apply|create|replace|delete|patch|edit|upgrade|install|` + strings.Join(slices.DeleteFunc(slices.Sorted(maps.Keys(byProgram)), func(name string) bool { return strings.ContainsAny(name, "$.:") }), "|") + `)(?:\b|_)`)
)

// MayRun reports whether a text may have commands that matter. Each file of a tree is looked at, so words are looked for one by
// one: an expression of all of them takes ten times as long.
func MayRun(content []byte) bool {
	text := lowered(content)
	return slices.ContainsFunc(running, func(program string) bool { return hasWord(text, program) })
}

// lowered is a text with small letters, of ASCII: no program has others in its name.
func lowered(text []byte) []byte {
	small := slices.Clone(text)
	for i, c := range small {
		if 'A' <= c && c <= 'Z' {
			small[i] = c + 'a' - 'A'
		}
	}
	return small
}

// hasWord reports whether a word begins and ends where a word does.
func hasWord(text []byte, word string) bool {
	for from := 0; ; from++ {
		at := bytes.Index(text[from:], []byte(word))
		if at < 0 {
			return false
		}
		from += at
		if end := from + len(word); (from == 0 || !isInWord(text[from-1])) && (end == len(text) || !isInWord(text[end]) || !isInWord(word[len(word)-1])) {
			return true
		}
	}
}

// isInWord reports whether a word goes on with a character: a variable such as KUBECTL_BIN is of several.
func isInWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func mayRun(text string) bool { return known.MatchString(text) }

var (
	ofShell = regexp.MustCompile(`\.(?:sh|bash|zsh|bats)$`)
	ofMake  = regexp.MustCompile(`(?i)makefile|\.mk$|justfile$`)
	// bracket is the end of a line of Python to which the next one belongs.
	bracket    = regexp.MustCompile(`([,(\[])\n[ \t]*`)
	ofTemplate = regexp.MustCompile(`\.(?:tftpl|tpl|j2|tmpl|gotmpl)$`)
	// target begins what Make runs together.
	target = regexp.MustCompile(`(?m)^[^\s#:=]`)
	// action is a line of a template that stands for no text, and item an argument in a list of its own lines.
	action = regexp.MustCompile(`(?m)^[ \t]*\{\{.*\}\}[ \t]*$`)
	item   = regexp.MustCompile(`(?m)\n[ \t]*-[ \t]+(\S+)$`)
)

// ofCRD is a field of a CRD at its outermost level.
var ofCRD = regexp.MustCompile(`^(?:apiVersion: *["']?apiextensions\.k8s\.io/\w+["']?|kind: *["']?CustomResourceDefinition["']?|metadata:|spec:|status:)\s*$`)

// withoutCRDs is a text of YAML without the documents that are CRDs and nothing else. No command is in a CRD, and there are large ones.
func withoutCRDs(text []byte) []byte {
	if !detect.CRD.Match(text) {
		return text
	}
	return []byte(strings.Join(slices.DeleteFunc(strings.Split(string(text), "\n---"), func(document string) bool {
		for line := range strings.Lines(document) {
			if !strings.ContainsAny(line[:1], " \n\r#-") && !ofCRD.MatchString(line) {
				return false
			}
		}
		return true
	}), "\n---"))
}

// jobsIn are the jobs of a file, by its name and its first line.
func jobsIn(file, first, text string) []job {
	name := ofTemplate.ReplaceAllString(filepath.Base(file), "")
	switch {
	case detect.YAML.MatchString("/"+name) || strings.HasSuffix(name, ".json"):
		if jobs, err := jobsOfYAML(text); err == nil {
			return jobs
		}
		return []job{{inLines(item.ReplaceAllString(text, " $1")), text}}
	case ofShell.MatchString(name) || strings.HasPrefix(first, "#!") && strings.Contains(first, "sh"):
		return []job{{parsed(text), text}}
	case ofMake.MatchString(name):
		text = strings.NewReplacer("$(eval ", "$(call ", "${eval ", "${call ").Replace(text) // which runs nothing
		var jobs []job
		begin := 0
		for _, at := range append(target.FindAllStringIndex(text, -1), []int{len(text)}) {
			jobs = append(jobs, job{inLines(text[begin:at[0]]), text[begin:at[0]]})
			begin = at[0]
		}
		return jobs
	case strings.HasSuffix(name, ".py"):
		return []job{{inLines(bracket.ReplaceAllString(text, "$1 ")), text}}
	}
	return []job{{inLines(text), text}}
}
