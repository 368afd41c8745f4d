package optin

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

const crdIgnoreKey = "resource.customizations.ignoreDifferences.apiextensions.k8s.io_CustomResourceDefinition"

var crdKind = resid.Gvk{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// differencesIgnored: a tool does not apply what it is set not to compare. A CRD's status, its CA bundle or its printer
// columns may well be ignored; the label and the versions may not.
func differencesIgnored(c check) []Found {
	var findings []Found
	if c.touches() {
		for _, ignored := range c.ignored() {
			findings = append(findings, c.ignores(c.unit.By, ignored)...)
		}
	}
	if !c.argoCDMayApply() || len(c.crds) == 0 {
		return findings
	}
	for _, config := range c.ArgoCDConfig {
		for _, key := range []string{crdIgnoreKey, "resource.customizations.ignoreDifferences.all"} {
			settings := map[string]any{}
			if text := config.Text("data", key); text != "" && unpacking.Unmarshal([]byte(text), &settings) == nil {
				findings = append(findings, c.ignores(config, ignoredFields(delivery.Wrap(settings), []string{"data", key}, all))...)
			}
		}
	}
	return findings
}

// ignored is one entry of a list of fields that a tool does not compare.
type ignored struct {
	field    []string // of the entry
	pointers []string
	jq       []string
	managers []string
	matches  func(delivery.CRD) bool
}

func ignoredFields(entry *delivery.Object, field []string, matches func(delivery.CRD) bool) ignored {
	return ignored{
		field: field, pointers: entry.Texts("jsonPointers"), jq: entry.Texts("jqPathExpressions"),
		managers: entry.Texts("managedFieldsManagers"), matches: matches,
	}
}

// ignored are the entries of the tool's object that can be about a CRD.
func (c check) ignored() []ignored {
	setting := "ignoreDifferences"
	if c.unit.Tool == delivery.Flux {
		setting = "ignore"
	}
	list, _ := c.unit.By.Field(c.setting(setting)...).([]any)
	var found []ignored
	for i, item := range list {
		content, _ := item.(map[string]any)
		entry, field := delivery.Wrap(content), c.setting(setting, strconv.Itoa(i))
		if c.unit.Tool == delivery.Flux {
			target := entry.TextMap("target")
			selected := types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Group: target["group"], Kind: target["kind"]}, Name: target["name"]}}
			if selector, err := types.NewSelectorRegex(&selected); err == nil && selector.MatchGvk(crdKind) {
				found = append(found, ignored{field: field, pointers: entry.Texts("paths"), matches: func(crd delivery.CRD) bool {
					return selector.MatchName(crd.GetName())
				}})
			}
			continue
		}
		if matchesGlob(entry.Text("group"), crdKind.Group) && matchesGlob(entry.Text("kind"), crdKind.Kind) {
			found = append(found, ignoredFields(entry, field, func(crd delivery.CRD) bool {
				name := entry.Field("name")
				return name == nil || name == "" || name == crd.GetName()
			}))
		}
	}
	return found
}

// ignores are the findings about one entry.
func (c check) ignores(object *delivery.Object, i ignored) []Found {
	names := c.names(i.matches)
	if len(names) == 0 && !c.unseen {
		return nil
	}
	var hidden []string
	for _, pointer := range i.pointers {
		if hides(segments(pointer), c.LabelKey) {
			hidden = append(hidden, pointer)
		}
	}
	for _, expression := range i.jq {
		if hides(jqPath(expression), c.LabelKey) {
			hidden = append(hidden, expression)
		}
	}
	var findings []Found
	if len(hidden) > 0 {
		findings = append(findings, about(object, i.field, names,
			fmt.Sprintf("differences at %s are ignored, so the label or another version in Git may never be applied: %s", strings.Join(hidden, ", "), c.whose(names)),
			"ignore no more than it takes, for example /spec/conversion/webhook/clientConfig/caBundle"))
	}
	if len(i.managers) > 0 {
		findings = append(findings, about(object, i.field, names,
			fmt.Sprintf("what %s last wrote is not compared with Git, which hides the label and the versions if they have ever applied the CRD: %s", strings.Join(i.managers, ", "), c.whose(names)),
			"name the fields to be ignored in place of who wrote them").warning())
	}
	return findings
}

// hides reports whether ignoring a path hides the label, the list of versions, or what a version is for.
func hides(path []string, labelKey string) bool {
	label, versions := []string{"metadata", "labels", labelKey}, []string{"spec", "versions"}
	if contains(path, label) || contains(path, versions) {
		return true
	}
	if !contains(versions, path) {
		return false
	}
	below := path[len(versions):] // the index, then a field of the version
	return len(below) == 1 || slices.Contains([]string{"name", "served", "storage"}, below[1])
}

// contains reports whether a path is another one, or leads to where it is.
func contains(around, inner []string) bool {
	return len(around) <= len(inner) && slices.Equal(around, inner[:len(around)])
}

// segments of a JSON pointer.
func segments(pointer string) []string {
	var found []string
	for segment := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if segment != "" {
			found = append(found, strings.NewReplacer("~1", "/", "~0", "~").Replace(segment))
		}
	}
	return found
}

var jqStep = regexp.MustCompile(`^\s*(?:\.?\[\s*"([^"]*)"\s*\]|\."([^"]*)"|\.([A-Za-z_]\w*)|\.?(\[[^\]"]*\]))\??`)

// jqPath is the path with which an expression begins. What comes after it only narrows down what is ignored.
func jqPath(expression string) []string {
	var path []string
	for {
		step := jqStep.FindStringSubmatch(expression)
		if step == nil {
			return path
		}
		path = append(path, step[1]+step[2]+step[3]+step[4])
		expression = expression[len(step[0]):]
	}
}

// matchesGlob is how Argo CD compares groups and kinds.
func matchesGlob(pattern, text string) bool {
	ok, err := path.Match(pattern, text)
	return err == nil && ok
}
