package crddiff

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// fields: each version that stays, against what it was.
func fields(c *comparison) {
	for _, is := range distinct(c.head) {
		was := crds.Version(c.base, is.Name)
		if was == nil {
			continue
		}
		for _, change := range schemas(schemaOf(was), schemaOf(is)) {
			change.Version = is.Name
			c.add(change)
		}
	}
}

// schemas compares two schemas, field by field. The changes come without a version.
func schemas(a, b *schema) []Change {
	if !within(a) || !within(b) {
		if reflect.DeepEqual(a, b) {
			return nil
		}
		return []Change{{
			Rule: SchemaTooLarge, Severity: finding.Error, Field: whole,
			Why: fmt.Sprintf("it has more than %d levels or %d schemas, so nothing is known about its fields", mostLevels, mostSchemas),
		}}
	}
	d := &difference{before: treeOf(a), after: treeOf(b)}
	d.gone, d.come = d.before.below(), d.after.below()
	d.walk()
	d.describe()
	return d.changes
}

// difference is one run over two trees.
type difference struct {
	before, after tree
	gone, come    map[string]int // how many fields are below a path, before and after
	changes       []Change
	reworded      []string // paths
}

func (d *difference) add(c Change) { d.changes = append(d.changes, c) }

// walk goes from the object itself downwards. What is below a field that is new, gone or of another type is reported
// with the field.
func (d *difference) walk() {
	told := map[string]bool{}
	all := maps.Clone(d.before)
	maps.Copy(all, d.after)
	for _, path := range downwards(all) {
		a, was := d.before[path]
		b, is := d.after[path]
		switch {
		case was && told[a.parent], is && told[b.parent]:
			told[path] = true
		case !was:
			told[path] = true
			d.added(path, b)
		case !is:
			told[path] = true
			d.removed(path, a)
		default:
			told[path] = d.compare(path, a.schema, b.schema)
		}
	}
}

// downwards puts each path behind those around it: they are how it begins, but for the object itself.
func downwards(paths tree) []string {
	sorted := sortedKeys(paths)
	if i := slices.Index(sorted, whole); i > 0 {
		sorted = slices.Insert(slices.Delete(sorted, i, i+1), 0, whole)
	}
	return sorted
}

func (d *difference) added(path string, b node) {
	why := "objects that leave it out stay as they are"
	switch {
	case b.Default != nil:
		why = "objects that leave it out get its default, " + value(b.Default)
	case path == whole:
		why = "there was no schema"
	}
	d.add(Change{Rule: FieldAdded, Severity: finding.Info, Field: path, To: typeOf(b.schema), Why: why + more(d.come[path], "comes", "come")})
}

func (d *difference) removed(path string, a node) {
	removal := Change{
		Rule: FieldRemoved, Severity: finding.Error, Field: path, From: typeOf(a.schema),
		Why: "the API server drops it from every object when it is read, and for good when it is written; manifests that set it are refused or lose it",
	}
	if parent, ok := d.after[a.parent]; ok {
		_, isMap := d.after[each(a.parent, "{*}")]
		switch {
		case keepsUnknown(parent.schema):
			removal.Severity, removal.Why = finding.Warning, "objects keep it, but nothing checks it any more: unknown fields are preserved there"
		case isMap:
			removal.Severity, removal.Why = finding.Warning, "objects keep it, as an entry of a map with other rules"
		}
	}
	if inStatus(path) && removal.Severity == finding.Error {
		removal.Severity = finding.Warning
		removal.Why = "the API server drops it from every object; its controller writes the status anew, and clients that read the field no longer find it"
	}
	removal.Why += more(d.gone[path], "goes", "go")
	d.add(removal)
}

// inStatus reports whether a field is in what a controller can find out again, by the conventions of the API.
func inStatus(path string) bool { return path == "status" || strings.HasPrefix(path, "status.") }

// more says how much a change of a field brings with it.
func more(count int, one, many string) string {
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("; %s below it %s with it", words.Count(count, "field"), words.Agree(count, one, many))
}

// compare reports whether what is below the field is reported already.
func (d *difference) compare(path string, a, b *schema) bool {
	from, to := alone(a), alone(b)
	f := field{difference: d, path: path, a: &from, b: &to}
	if f.types() {
		return true
	}
	f.required()
	f.values()
	f.limits()
	f.structure()
	f.validations()
	f.combination()
	f.descriptions()
	f.rest()
	return false
}

// field is one field that was there and still is. The schemas are copies without the fields below.
type field struct {
	*difference
	path string
	a, b *schema
}

func (f field) add(rule Rule, severity finding.Severity, from, to, why string) {
	f.difference.add(Change{Rule: rule, Severity: severity, Field: f.path, From: from, To: to, Why: why})
}

// deprecation is how descriptions say it, by convention: as a sentence's first word, or of "this field".
var deprecation = regexp.MustCompile(`(?i)(?:^|[\n.;:(\[*])\s*\**deprecated\b|\b(?:this|the) (?:field|property|option|value|type) (?:is|has been|was) deprecated\b`)

func (f field) descriptions() {
	if f.a.Description != f.b.Description && !deprecation.MatchString(f.a.Description) && deprecation.MatchString(f.b.Description) {
		f.add(FieldDeprecated, finding.Info, "", firstSentence(f.b.Description), "its description calls it deprecated; it still works")
		return
	}
	if f.a.Description != f.b.Description || f.a.Title != f.b.Title || canonical(f.a.Example) != canonical(f.b.Example) ||
		!reflect.DeepEqual(f.a.ExternalDocs, f.b.ExternalDocs) {
		f.reworded = append(f.reworded, f.path)
	}
}

// firstSentence is the part of a description that says that the field is deprecated.
func firstSentence(description string) string {
	if at := deprecation.FindStringIndex(description); at != nil {
		description = strings.TrimLeft(description[at[0]:], " \n.;:([*")
	}
	line, _, _ := strings.Cut(description, "\n")
	return cut(line)
}

// describe counts the fields that are described anew; no person wants to read each.
func (d *difference) describe() {
	if len(d.reworded) == 0 {
		return
	}
	d.add(Change{
		Rule: DescriptionsChanged, Severity: finding.Info, To: words.Few(d.reworded, 3),
		Why: "kubectl explain says something else; nothing else changes",
	})
}
