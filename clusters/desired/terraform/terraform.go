// Package terraform finds in files of Terraform the blocks that hold something, and the values that these name in whichever file.
package terraform

import (
	"regexp"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/commands"
	"github.com/moult-dev/moult/clusters/desired/files"
)

// Named finds files of Terraform by their names.
var Named = regexp.MustCompile(`\.(?:tf|tofu|tfvars|hcl)(?:\.json)?$`)

var (
	// block is one of Terraform's at the beginning of a line: its kind, its labels, and what is in it.
	block = regexp.MustCompile(`(?m)^(\w+)((?:[ \t]+"[^"\n]*")*)[ \t]*\{(?:[^\n]*\}[ \t]*$|(?s:.*?)^\})`) //nolint:gocritic // with m, ^ is the beginning of a line
	// aside are lines that decide neither about a chart nor about its values, and ofTerraform is what other lines name.
	aside       = regexp.MustCompile(`(?m)^\s*(?:tags|labels|description|timeout|depends_on|providers)\s*=.*$`)
	ofTerraform = regexp.MustCompile(`\b(var|local|data\.\w+)\.(\w+)`)
)

// BlocksWith are the blocks of a file of Terraform that hold something, and what is in no block, as in JSON. Providers install nothing by
// themselves. It is empty if none holds it.
func BlocksWith(holds *regexp.Regexp, text string) string {
	var found strings.Builder
	for _, one := range block.FindAllStringSubmatch(text, -1) {
		if one[1] != "terraform" && one[1] != "provider" && holds.MatchString(one[0]) {
			found.WriteString(one[0] + "\n")
		}
	}
	rest := block.ReplaceAllString(text, "")
	if found.Len() == 0 && !holds.MatchString(rest) {
		return ""
	}
	return found.String() + rest
}

// Values are the blocks and lines of some files that give values to what a text names. The files that have some are noted.
func Values(text string, in []files.Text, note func(file string)) string {
	var found strings.Builder
	known := map[string]bool{}
	for named := []string{text}; len(named) > 0; named = named[1:] {
		for _, name := range ofTerraform.FindAllStringSubmatch(aside.ReplaceAllString(named[0], ""), -1) {
			if known[name[0]] {
				continue
			}
			known[name[0]] = true
			for _, file := range in {
				given := givenIn(file.Text, name[1], name[2])
				if len(known) > commands.MostVariables {
					given = []string{file.Text}
				}
				for _, value := range given {
					note(file.File)
					found.WriteString(value + "\n")
					named = append(named, value)
				}
			}
			if len(known) > commands.MostVariables {
				return found.String()
			}
		}
	}
	return found.String()
}

// givenIn are the blocks and lines of a file that give a value to a variable, a local value, or a source of data.
func givenIn(text, kind, name string) (found []string) {
	assigned := regexp.MustCompile(`(?m)(?:^|[{,])[ \t]*"?` + name + `"?[ \t]*[:=]`)
	assignments := func(text string) {
		for _, at := range assigned.FindAllStringIndex(text, -1) {
			found = append(found, text[at[0]:at[1]]+balanced(text[at[1]:]))
		}
	}
	for _, at := range block.FindAllStringSubmatchIndex(text, -1) {
		one, of, labels := text[at[0]:at[1]], text[at[2]:at[3]], text[at[4]:at[5]]
		last := strings.HasSuffix(labels, `"`+name+`"`)
		switch {
		case kind == "var" && of == "variable" && last, of == "data" && last && strings.HasPrefix(kind, "data."):
			found = append(found, one)
		case kind == "local" && of == "locals", kind == "var" && of == "module":
			assignments(one)
		}
	}
	assignments(block.ReplaceAllString(text, "")) // values for variables, Terragrunt's inputs, and JSON
	return found
}

// balanced is what begins a text, up to the end of the line in which the last of its brackets is closed.
func balanced(text string) string {
	depth := 0
	for i, c := range text {
		switch c {
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			depth--
		case '\n':
			if depth <= 0 {
				return text[:i]
			}
		}
	}
	return text
}
