package survivors

import (
	"encoding/base64"
	"slices"
	"strings"
)

const (
	// deepest is how many packings are taken off what no rule describes.
	deepest = 4
	// shortest is the length of a text that may be packed: an apiVersion in base64 is longer.
	shortest = 16
)

// undeclared looks at each value that no declared place has read: texts that are group/version, and mappings that have the
// group and the version side by side.
func (v *visit) undeclared(content Content) {
	for at, value := range children("", content) {
		switch at {
		case "apiVersion", "kind": // the object's own, and not what it is stored at
		case "metadata":
			v.undeclaredMetadata(value)
		default:
			v.descend(at, value, "", 0)
		}
	}
}

// undeclaredMetadata leaves managedFields to Moult's own survey.
func (v *visit) undeclaredMetadata(value any) {
	if v.seen["metadata"] {
		return
	}
	for at, value := range children("metadata", value) {
		if at != "metadata.managedFields" {
			v.descend(at, value, "", 0)
		}
	}
}

// descend looks at a value and all below it. The kind is the one beside it, if there is one.
func (v *visit) descend(at string, value any, kind string, packed int) {
	if v.seen[at] {
		return
	}
	switch value := value.(type) {
	case string:
		v.text(at, value, kind, packed)
	case map[string]any:
		if !v.answered[at] {
			v.sideBySide(at, value)
		}
		kind := text(value["kind"])
		for where, item := range children(at, value) {
			if _, isText := item.(string); !isText || !v.answered[at] {
				v.descend(where, item, kind, packed)
			}
		}
	case []any:
		for where, item := range children(at, value) {
			v.descend(where, item, "", packed)
		}
	}
}

func (v *visit) text(at, s, kind string, packed int) {
	for i := range v.targets {
		t := &v.targets[i]
		group, version, ok := strings.Cut(s, "/")
		if ok && group == t.Group && t.Leaves(version) && t.isKind(kind) {
			v.possible(at, t, version, kind)
		}
	}
	if packed < deepest && len(s) >= shortest {
		v.packed(at, s, packed+1)
	}
}

// packed looks inside of a text that is one of the known packings. What cannot be unpacked is just a text.
func (v *visit) packed(at, s string, packed int) {
	if err := v.budget.Work(int64(len(s))); err != nil {
		v.beyond(at, err)
		return
	}
	into := func(word string) bool {
		err := packings[word](v.budget, s, func(suffix string, inside any) { v.descend(at+"|"+word+suffix, inside, "", packed) })
		if isBeyond(err) {
			v.beyond(at, err)
			return true
		}
		return err == nil
	}
	trimmed := strings.TrimSpace(s)
	switch {
	case strings.HasPrefix(s, "\x1f\x8b"):
		into("gzip")
	case v.mentions(s):
		if strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
			if into("json") {
				return
			}
		}
		if strings.Contains(s, ":") {
			into("yaml")
		}
	case isBase64(trimmed):
		into("base64")
	}
}

// beyond says that a text was not looked into. It holds nothing up, as all that no place declares.
func (v *visit) beyond(at string, err error) {
	v.keep(Reference{State: Unknown, Effect: Cosmetic, Object: v.object, Path: at, Why: err.Error()}, Reference{State: Unknown, Why: err.Error()})
}

// mentions spares most texts the parser.
func (v *visit) mentions(s string) bool {
	return slices.ContainsFunc(v.targets, func(t Target) bool { return strings.Contains(s, t.Group) })
}

func isBase64(s string) bool {
	const enough = 64
	if len(s)%4 != 0 {
		return false
	}
	head := s[:min(len(s), enough)]
	_, err := base64.StdEncoding.DecodeString(head)
	return err == nil
}

// sideBySide looks for a field about the group and one about the version in a mapping.
func (v *visit) sideBySide(at string, fields map[string]any) {
	for i := range v.targets {
		t := &v.targets[i]
		var group bool
		var versions []string
		for name, value := range fields {
			switch name = strings.ToLower(name); {
			case strings.HasSuffix(name, "group"), strings.HasSuffix(name, "groups"):
				group = group || slices.Contains(textsOf(value), t.Group)
			case strings.HasSuffix(name, "version"), strings.HasSuffix(name, "versions"):
				versions = append(versions, slices.DeleteFunc(textsOf(value), func(version string) bool { return !t.Leaves(version) })...)
			}
		}
		kind := text(fields["kind"])
		if !group || !t.isKind(kind) {
			continue
		}
		slices.Sort(versions)
		for _, version := range slices.Compact(versions) {
			v.possible(at, t, version, kind)
		}
	}
}

func (v *visit) possible(at string, t *Target, version, kind string) {
	f := Reference{State: Possible, Object: v.object, Path: at, CRD: t.CRD, Version: version, Names: kind, Why: "no place is known here"}
	v.keep(f, f)
}
