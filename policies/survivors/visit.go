package survivors

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/policies/unpacking"
)

// visit is the walk through one object.
type visit struct {
	*Walker
	*metadata
	content    Content
	object     ObjectRef
	budget     *unpacking.Budget
	references []Reference
	// seen are the paths that declared places are about, with all that lies below.
	seen map[string]bool
	// kept are the references that there are already.
	kept map[Reference]bool
	// answered are the mappings that they have read as references, to whatever.
	answered map[string]bool
	// rules are the versions in rules that are the same but for them.
	rules map[ruleKey][]string
	// exact are the lists of rules, and whether Exact lies beside them.
	exact map[*Field]map[string]bool
}

// ruleKey is what rules have in common that are one: the field, the list that they are in, and all but their versions.
type ruleKey struct {
	field      *Field
	list, rest string
}

// skip leaves out the fields of an object that the place is declared not to apply to.
func (v *visit) skip(p *Place, content Content) {
	for i := range p.Fields {
		for at := range p.Fields[i].path.values("", content) {
			v.see(at)
		}
	}
}

func (v *visit) place(p *Place, content Content) {
	for i := range p.Fields {
		f := &p.Fields[i]
		for at, value := range f.path.values("", content) {
			if p.effectOf(f) == Cosmetic {
				v.see(at) // nor does anything in it matter
			}
			if f.Shape == Presence {
				v.present(p)
				continue
			}
			v.unpack(p, f, at, value, f.packing)
		}
	}
}

// present is the object itself.
func (v *visit) present(p *Place) {
	v.references = append(v.references, Reference{Place: p.Name, State: Possible, Effect: p.Effect, Object: v.object, Path: "metadata.name", Why: p.Consequence})
}

// unpack takes off one packing after the other.
func (v *visit) unpack(p *Place, f *Field, at string, value any, packing []step) {
	if len(packing) == 0 {
		v.read(p, f, at, value)
		return
	}
	err := packing[0](v.budget, at, value, func(at string, inside any) { v.unpack(p, f, at, inside, packing[1:]) })
	if err != nil {
		v.unknown(p, f, at, err)
	}
}

func (v *visit) read(p *Place, f *Field, at string, value any) {
	if f.Shape == Object {
		v.whole(p, f, at, value)
		return
	}
	fields, _ := value.(map[string]any)
	for name, want := range f.Where {
		if fmt.Sprint(fields[name]) != want {
			return
		}
	}
	r, err := f.read(value)
	if err != nil {
		v.unknown(p, f, at, err)
		return
	}
	if r != nil {
		if v.budget.Keep(seenTakes+int64(len(at))) == nil { // else what it names may be possible, too
			v.answered[at] = true
		}
		if r.list {
			r.beside, r.exact = v.versionsBeside(f, at, fields), v.isExact(f, at)
		}
		v.refers(p, f, at, r)
	}
}

// versionsBeside are those of rules in the same list that differ in their versions only: together they are one rule.
func (v *visit) versionsBeside(f *Field, at string, rule map[string]any) (versions []string) {
	if f.path[len(f.path)-1] != every {
		return nil
	}
	key := cmp.Or(f.Keys.Version, "version")
	if v.rules == nil {
		v.rules = map[ruleKey][]string{}
	}
	if first := (ruleKey{field: f}); v.rules[first] == nil { // of all lists at once, since there may be thousands of rules
		v.rules[first] = []string{}
		for where, value := range f.path.values("", v.content) {
			if other, ok := value.(map[string]any); ok {
				of := keyOf(f, where, other, key)
				v.rules[of] = append(v.rules[of], textsOf(other[key])...)
			}
		}
	}
	return v.rules[keyOf(f, at, rule, key)]
}

// isExact reports whether the list that a rule is in has Exact beside it.
func (v *visit) isExact(f *Field, at string) bool {
	if f.Policy == "" {
		return false
	}
	if v.exact[f] == nil { // of all lists at once, too
		if v.exact == nil {
			v.exact = map[*Field]map[string]bool{}
		}
		v.exact[f] = map[string]bool{}
		above, list := f.path[:len(f.path)-2], f.path[len(f.path)-2][1:]
		for where, value := range above.values("", v.content) {
			fields, _ := value.(map[string]any)
			v.exact[f][below(where, list)] = fields[f.Policy] == "Exact"
		}
	}
	return v.exact[f][listOf(at)]
}

// listOf is where the list is that an item is in.
func listOf(at string) string { return at[:max(0, strings.LastIndex(at, "["))] }

func keyOf(f *Field, at string, rule map[string]any, versions string) ruleKey {
	rest := maps.Clone(rule)
	delete(rest, versions)
	content, _ := json.Marshal(rest) // it was read from JSON
	return ruleKey{f, listOf(at), string(content)}
}

// whole reads a stashed copy, or a list of some.
func (v *visit) whole(p *Place, f *Field, at string, value any) {
	fields, ok := value.(map[string]any)
	if !ok {
		if items, isList := value.([]any); isList {
			v.items(p, f, at, items)
			return
		}
		v.unknown(p, f, at, errors.New("it is no object"))
		return
	}
	apiVersion, kind := text(fields["apiVersion"]), text(fields["kind"])
	gv, err := schema.ParseGroupVersion(apiVersion)
	meta, _ := fields["metadata"].(map[string]any)
	r := &naming{groups: []string{gv.Group}, versions: []string{gv.Version}, kind: kind, namespace: text(meta["namespace"]), name: text(meta["name"])}
	switch {
	case err == nil && apiVersion != "" && (kind != "" || v.isNamed(r)):
		v.refers(p, f, at, r)
	case v.byLabels(p, f, at):
	case kind == "":
		v.unknown(p, f, at, errors.New("the copy has no kind"))
	default:
		v.unknown(p, f, at, fmt.Errorf("the copy's apiVersion %q is none", clip(apiVersion)))
	}
	if items, isList := fields["items"].([]any); isList {
		v.items(p, f, below(at, "items"), items)
	}
}

func (v *visit) items(p *Place, f *Field, at string, items []any) {
	for where, item := range children(at, items) {
		v.whole(p, f, where, item)
	}
}

// isNamed reports whether a leaving version is named.
func (v *visit) isNamed(r *naming) bool {
	return slices.ContainsFunc(v.targets, func(t Target) bool {
		versions, _, _ := r.names(&t)
		return len(versions) > 0
	})
}

// byLabels reads what labels tell of a copy that does not tell it itself.
func (v *visit) byLabels(p *Place, f *Field, at string) bool {
	if f.Payload == nil {
		return false
	}
	version, kind := v.labels[f.Payload.Version], v.labels[f.Payload.Kind]
	if version == "" || kind == "" {
		return false
	}
	v.refers(p, f, at, &naming{groups: p.Groups, versions: []string{version}, kind: kind, name: v.labels[f.Payload.Name]})
	return true
}

func (v *visit) refers(p *Place, f *Field, at string, r *naming) {
	for i := range v.targets {
		t := &v.targets[i]
		versions, named, covered := r.names(t)
		beside := strings.Join(named, ",")
		for _, version := range versions {
			f := Reference{Place: p.Name, State: Found, Effect: p.effectOf(f), Object: v.object, Path: at, CRD: t.CRD, Version: version, Names: r.what(), beside: beside}
			if covered {
				f = f.covered()
			}
			v.found(f)
		}
	}
}

// found keeps a reference, unless another field of the place has led there.
func (v *visit) found(f Reference) {
	v.see(f.Path)
	v.keep(f, Reference{Place: f.Place, Path: f.Path, CRD: f.CRD, Version: f.Version})
}

// What is kept of an object is drawn from its budget, too: a reference is in a list and, as a key, in a mapping.
const (
	seenTakes      = 100
	referenceTakes = 1 << 10
)

// see remembers a path that a declared place is about, if there is room for it.
func (v *visit) see(at string) {
	if !v.seen[at] && v.budget.Keep(seenTakes+int64(len(at))) == nil {
		v.seen[at] = true
	}
}

// keep keeps a reference unless there is one of the same key. Where there is no room for more, that is unknown, once of each place
// and effect.
func (v *visit) keep(f, key Reference) {
	if v.kept[key] {
		return
	}
	if err := v.budget.Keep(referenceTakes + int64(len(f.Path)+len(f.Why)+len(f.Names)+len(f.beside))); err != nil {
		f = Reference{Place: f.Place, State: Unknown, Effect: cmp.Or(f.Effect, Cosmetic), Object: f.Object, Path: "metadata.name", Why: "it has more references than are counted of one object"}
		if key = f; v.kept[key] {
			return
		}
	}
	v.kept[key] = true
	v.references = append(v.references, f)
}

func (v *visit) unknown(p *Place, f *Field, at string, err error) {
	v.see(at)
	v.keep(Reference{Place: p.Name, State: Unknown, Effect: p.effectOf(f), Object: v.object, Path: at, Why: err.Error()}, Reference{Place: p.Name, State: Unknown, Path: at})
}
