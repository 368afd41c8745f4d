package desired

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/render"
)

var (
	// chosen are lines that decide which chart or manifest Terraform installs, and ofTerraform is a variable in them.
	chosen      = regexp.MustCompile(`(?m)^.*\b(?:\w*version|chart|repository|yaml_body|manifest|url|path|values?)"?\s*[:=][^\n]*`)
	ofTerraform = regexp.MustCompile(`\b(?:var|local)\.(\w+)`)
	terraform   = regexp.MustCompile(`\.(?:tf|tofu|tfvars|hcl)(?:\.json)?$`)
)

// valuesOfTerraform are the blocks and lines, in whichever file of Terraform, that give values to the variables by which a text chooses
// what is installed.
func (e *everywhere) valuesOfTerraform(text string) string {
	if e.terraform == nil {
		e.terraform = map[string]string{}
		_ = eachFile(e.tree, e.tree.Dir, isNotApplied, func(file string) error {
			if content, err := render.ReadRegular(file); err == nil && terraform.MatchString(file) {
				e.terraform[file] = string(content)
			}
			return nil
		})
	}
	var found strings.Builder
	files := slices.Sorted(maps.Keys(e.terraform))
	named := chosen.FindAllString(text, -1)
	for known := map[string]bool{}; len(named) > 0; named = named[1:] {
		for _, name := range ofTerraform.FindAllStringSubmatch(named[0], -1) {
			if known[name[1]] {
				continue
			}
			if known[name[1]] = true; len(known) > mostVariables {
				return e.allOfTerraform(files)
			}
			giving := regexp.MustCompile(`(?ms)^[^\n]*(?:\bvariable"?\s*[:{]?\s*"?` + name[1] + `"?|\b` + name[1] + `"?\s*[:=])\s*(?:[\[{]\s*\n.*?^\s*[\]}]|[^\n]*)`)
			for _, file := range files {
				for _, value := range giving.FindAllString(e.terraform[file], -1) {
					e.tree.Reads.File(file)
					found.WriteString(value + "\n")
					named = append(named, value)
				}
			}
		}
	}
	return found.String()
}

// allOfTerraform is what all of its files hold.
func (e *everywhere) allOfTerraform(files []string) string {
	var all strings.Builder
	for _, file := range files {
		e.tree.Reads.File(file)
		all.WriteString(e.terraform[file])
	}
	return all.String()
}
