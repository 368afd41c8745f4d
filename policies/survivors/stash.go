package survivors

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/policies/words"
)

// Copy is a stashed copy that was understood.
type Copy struct {
	Version, Kind, Name string
	// Bare is true if it did not tell these itself.
	Bare bool

	object map[string]any
}

// ErrUndecodable says that a stashed copy is nothing that its move knows how to read.
var ErrUndecodable = errors.New("the copy cannot be decoded")

// Applies reports whether an object has the place, by its metadata.
func (p *Place) Applies(content Content) bool { return p.applies(metadataOf(content)) }

// ReadCopy reads the copy in the field data of an object. The error is ErrUndecodable with the reason.
func (m *Move) ReadCopy(group string, content Content) (Copy, error) {
	data, ok := content["data"].(map[string]any)
	if !ok {
		return Copy{}, fmt.Errorf("%w: data is no object", ErrUndecodable)
	}
	kind := text(data["kind"])
	if kind == "" {
		return m.readBare(data)
	}
	gv, err := schema.ParseGroupVersion(text(data["apiVersion"]))
	if err != nil || gv.Group != group || gv.Version == "" {
		return Copy{}, fmt.Errorf("%w: its apiVersion %q is none of %s", ErrUndecodable, clip(text(data["apiVersion"])), group)
	}
	meta, _ := data["metadata"].(map[string]any)
	return Copy{Version: gv.Version, Kind: kind, Name: text(meta["name"]), object: data}, nil
}

func (m *Move) readBare(data map[string]any) (Copy, error) {
	packed, isText := data["spec"].(string)
	for field := range data {
		isText = isText && (field == "apiVersion" || field == "spec")
	}
	if !isText {
		return Copy{}, fmt.Errorf("%w: it has no kind", ErrUndecodable)
	}
	budget, spec := unpacking.One(), map[string]any(nil)
	raw, err := budget.Base64(packed)
	if err == nil {
		err = budget.HoldJSON(raw)
	}
	if isBeyond(err) {
		return Copy{}, fmt.Errorf("%w: its spec, %w", ErrUndecodable, err)
	}
	if err == nil {
		err = json.Unmarshal([]byte(raw), &spec)
	}
	if err != nil || spec == nil {
		return Copy{}, fmt.Errorf("%w: its spec is no JSON in base64", ErrUndecodable)
	}
	for _, b := range m.Bare {
		if rule := m.rule(b.Kind, b.Version); rule != nil && reflect.DeepEqual(rule.known(spec), spec) {
			object := map[string]any{"metadata": map[string]any{"name": b.Name}, "spec": spec}
			return Copy{Version: b.Version, Kind: b.Kind, Name: b.Name, Bare: true, object: object}, nil
		}
	}
	return Copy{}, fmt.Errorf("%w: it has no kind, and its fields are those of none", ErrUndecodable)
}

// known is a spec with those fields that the rule has.
func (r *Rule) known(spec map[string]any) map[string]any {
	kept := map[string]any{}
	for field, inside := range r.Fields {
		value, has := spec[field]
		if !has {
			continue
		}
		if fields, ok := value.(map[string]any); ok && len(inside) > 0 {
			value = maps.Collect(func(yield func(string, any) bool) {
				for name, v := range fields {
					if slices.Contains(inside, name) && !yield(name, v) {
						return
					}
				}
			})
		}
		kept[field] = value
	}
	return kept
}

// Convert makes a copy at another version. An error says that no rule does, or that the copy is no object of its kind.
func (m *Move) Convert(group string, c Copy) (Copy, error) {
	rule := m.rule(c.Kind, c.Version)
	if rule == nil {
		return Copy{}, fmt.Errorf("no rule converts a %s at %s", c.Kind, c.Version)
	}
	object := runtime.DeepCopyJSON(c.object)
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		return Copy{}, fmt.Errorf("%w: its spec is no object", ErrUndecodable)
	}
	for field, inside := range rule.Fields {
		if value := spec[field]; value != nil && len(inside) > 0 {
			if _, ok := value.(map[string]any); !ok {
				return Copy{}, fmt.Errorf("%w: spec.%s is no object", ErrUndecodable, field)
			}
		}
	}
	object["spec"] = rule.known(spec)
	for path, value := range rule.Defaults {
		setDefault(object, path, value)
	}
	for _, path := range rule.DropEmpty {
		dropEmpty(object, path)
	}
	object["apiVersion"], object["kind"] = group+"/"+rule.To, c.Kind
	return Copy{Version: rule.To, Kind: c.Kind, Name: c.Name, object: object}, nil
}

func namesOf(path string) []string {
	parsed, _ := parsePath(path) // it was checked when the move was loaded
	return words.Of(parsed, func(s string) string { return s[1:] })
}

func setDefault(object map[string]any, path string, value any) {
	names := namesOf(path)
	for _, name := range names[:len(names)-1] {
		inside, ok := object[name].(map[string]any)
		if !ok {
			inside = map[string]any{}
			object[name] = inside
		}
		object = inside
	}
	if last := names[len(names)-1]; object[last] == nil {
		object[last] = value
	}
}

func dropEmpty(object map[string]any, path string) {
	names := namesOf(path)
	for _, name := range names[:len(names)-1] {
		object, _ = object[name].(map[string]any)
	}
	if last := names[len(names)-1]; text(object[last]) == "" {
		delete(object, last)
	}
}

// Object is the copy as it lies in data.
func (c Copy) Object() map[string]any { return c.object }

// As is the same copy at another version, as somebody else has converted it.
func (c Copy) As(version string, object map[string]any) Copy {
	return Copy{Version: version, Kind: c.Kind, Name: c.Name, object: object}
}

func (c Copy) meta(field string) string {
	meta, _ := c.object["metadata"].(map[string]any)
	if value := meta[field]; value != nil {
		return fmt.Sprint(value)
	}
	return ""
}

// SuccessorName is what the object with a converted copy is called.
func (m *Move) SuccessorName(owner string, c Copy) string {
	generation := c.meta("generation")
	if generation == "" {
		generation = "0"
	}
	return strings.NewReplacer("{owner}", owner, "{name}", c.Name, "{version}", c.Version, "{uid}", c.meta("uid"), "{generation}", generation).Replace(m.Successor)
}

// SuccessorLabels are the labels of an object that change with its copy. A value that the copy does not tell is the old one's.
func (p *Place) SuccessorLabels(old map[string]string, c Copy) map[string]string {
	labels := maps.Clone(old)
	if labels == nil {
		labels = map[string]string{}
	}
	for i := range p.Fields {
		l := p.Fields[i].Payload
		if l == nil {
			continue
		}
		generation := c.meta("generation")
		if generation == "" {
			generation = "0"
		}
		for key, value := range map[string]string{l.Name: c.Name, l.UID: c.meta("uid"), l.Generation: generation} {
			if _, has := labels[key]; key != "" && !has {
				labels[key] = value
			}
		}
		labels[l.Version], labels[l.Kind] = c.Version, c.Kind
	}
	return labels
}

// Named is a field that names an object.
type Named struct {
	// Path is as people read it, and Pointer as JSON Patch does.
	Path, Pointer string
	Name          string
}

// In reports whether an object of a name can have the fields.
func (f *NameField) In(name string) bool {
	return len(f.Names) == 0 || slices.ContainsFunc(f.Names, func(pattern string) bool { return matches(pattern, name) })
}

// Read are the fields of an object that are set.
func (f *NameField) Read(content Content) (all []Named) {
	for _, path := range f.Paths {
		parsed, _ := parsePath(path) // it was checked when the move was loaded
		at, _ := pointer(path)
		for _, value := range parsed.values("", content) {
			if name := text(value); name != "" {
				all = append(all, Named{Path: path, Pointer: at, Name: name})
			}
		}
	}
	return all
}

// Done reports whether an object's work has ended.
func (w *Work) Done(content Content) bool {
	for _, end := range w.Ends {
		parsed, _ := parsePath(end.Path) // it was checked when the move was loaded
		for _, value := range parsed.values("", content) {
			if slices.Contains(end.Values, fmt.Sprint(value)) {
				return true
			}
		}
	}
	return false
}

// Version is the version of the project that an object names.
func (c *Mover) Version(content Content) string {
	parsed, _ := parsePath(c.Path) // it was checked when the move was loaded
	for _, value := range parsed.values("", content) {
		return text(value)
	}
	return ""
}

// Owned reports whether the controller cares for an object, by its owners.
func (c *Mover) Owned(content Content) bool {
	return slices.ContainsFunc(metadataOf(content).owners, func(owner string) bool { return slices.Contains(c.Owners, owner) })
}

// HasKind reports whether objects of a kind belong to the CRD.
func (t *Target) HasKind(kind string) bool { return kind != "" && t.isKind(kind) }

// Labelled is what labels tell of the copy in an object; empty where they do not.
func (p *Place) Labelled(labels map[string]string) (kind, version string) {
	for i := range p.Fields {
		if l := p.Fields[i].Payload; l != nil {
			return labels[l.Kind], labels[l.Version]
		}
	}
	return "", ""
}

// Movable are the versions from which places declare how copies of a CRD's objects are moved.
func (t *Target) Movable(places []Place) (versions []string) {
	for i := range places {
		move := MoveOf(&places[i])
		if move == nil || !slices.Contains(places[i].Groups, t.Group) {
			continue
		}
		for _, rule := range move.Rules {
			if slices.ContainsFunc(rule.Kinds, t.HasKind) {
				versions = append(versions, rule.From...)
			}
		}
	}
	return words.Distinct(versions)
}
