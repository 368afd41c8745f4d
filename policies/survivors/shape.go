package survivors

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/policies/words"
)

// naming is what a value names.
type naming struct {
	// groups and versions are alternatives; "" is the core group.
	groups, versions []string
	// kind and resources are empty where the value does not tell.
	kind            string
	resources       []string
	crd             string
	namespace, name string
	// patterns is true if groups, versions and the kind may have wildcards.
	patterns bool
	// list is true for rules, which may name several versions: if one of them stays, the rule goes on matching.
	list bool
	// beside are the versions of the other rules that are the same but for them.
	beside []string
	// exact is true if the rules match only requests at the versions that they name.
	exact bool
}

// any is what rules write for every group or version.
const anything = "*"

// read reports what a value of a shape names. An error says that it cannot be told.
func (f *Field) read(value any) (*naming, error) {
	switch f.Shape {
	case APIVersion:
		return f.readAPIVersion(value)
	case GroupVersion:
		return f.readGroupVersion(value)
	case GroupVersionKind:
		return readGroupVersionKind(value)
	case Inventory:
		return f.readInventory(value)
	case Object, Presence: // read elsewhere: they are no references
	}
	return nil, nil
}

// readAPIVersion reads nothing where there is no text apiVersion: a path with ** leads to values of every sort.
func (f *Field) readAPIVersion(value any) (*naming, error) {
	fields, _ := value.(map[string]any)
	apiVersion, ok := fields[cmp.Or(f.Keys.APIVersion, "apiVersion")].(string)
	if !ok || apiVersion == "" {
		return nil, nil
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, fmt.Errorf("apiVersion %q is none", clip(apiVersion))
	}
	return f.named(fields, &naming{groups: []string{gv.Group}, versions: []string{gv.Version}}), nil
}

func (f *Field) readGroupVersion(value any) (*naming, error) {
	fields, _ := value.(map[string]any)
	group, version := fields[cmp.Or(f.Keys.Group, "group")], fields[cmp.Or(f.Keys.Version, "version")]
	r := &naming{groups: textsOf(group), versions: textsOf(version), resources: textsOf(fields[cmp.Or(f.Keys.Resource, "resource")])}
	_, r.list = version.([]any)
	if f.Keys.CRD != "" {
		r.crd = text(fields[f.Keys.CRD])
		_, crdGroup, _ := strings.Cut(r.crd, ".")
		r.groups = []string{crdGroup}
	}
	if len(r.groups) == 0 || len(r.versions) == 0 {
		return nil, nil
	}
	return f.named(fields, r), nil
}

// named adds the kind and the name beside a version.
func (f *Field) named(fields map[string]any, r *naming) *naming {
	kinds := textsOf(fields[cmp.Or(f.Keys.Kind, "kind")])
	if len(kinds) == 1 {
		r.kind = kinds[0]
	}
	r.namespace, r.name = text(fields[cmp.Or(f.Keys.Namespace, "namespace")]), text(fields[cmp.Or(f.Keys.Name, "name")])
	if r.kind == anything {
		r.kind = ""
	}
	return r
}

// readGroupVersionKind reads group/version/Kind and version/Kind, each perhaps with a subresource behind it, as Kyverno does
// (pkg/utils/kube/kind.go, ParseKindSelector). A text without a version names none.
func readGroupVersionKind(value any) (*naming, error) {
	parts := strings.Split(text(value), "/")
	switch {
	case len(parts) >= 3 && !isVersion(parts[0]):
		return &naming{groups: parts[:1], versions: parts[1:2], kind: kindIn(parts[2]), patterns: true}, nil
	case len(parts) >= 2 && isVersion(parts[0]):
		return &naming{groups: []string{anything}, versions: parts[:1], kind: kindIn(parts[1]), patterns: true}, nil
	default:
		return nil, nil
	}
}

// kindIn is the kind before a subresource; empty for any.
func kindIn(part string) string {
	kind, _, _ := strings.Cut(part, ".")
	if strings.Trim(kind, anything) == "" {
		return ""
	}
	return kind
}

// isVersion distinguishes a version from a group: groups have dots, but for those of Kubernetes itself.
func isVersion(text string) bool {
	digits, ok := strings.CutPrefix(text, "v")
	return ok && digits != "" && digits[0] >= '0' && digits[0] <= '9' && !strings.Contains(text, ".")
}

// readInventory reads an id as github.com/fluxcd/cli-utils/pkg/object writes it: the name may have underscores, the rest has
// none.
func (f *Field) readInventory(value any) (*naming, error) {
	fields, _ := value.(map[string]any)
	id, version := text(fields["id"]), text(fields["v"])
	namespace, rest, ok := strings.Cut(id, "_")
	last := strings.LastIndex(rest, "_")
	if !ok || last < 0 || version == "" {
		return nil, fmt.Errorf("%q is not of the form namespace_name_group_kind, with its version in v", clip(id))
	}
	rest, kind := rest[:last], rest[last+1:]
	last = strings.LastIndex(rest, "_")
	if last < 0 {
		return nil, fmt.Errorf("%q is not of the form namespace_name_group_kind", clip(id))
	}
	return &naming{groups: []string{rest[last+1:]}, versions: []string{version}, kind: kind, namespace: namespace, name: strings.ReplaceAll(rest[:last], "__", ":")}, nil
}

// textsOf is a text, or the texts of a list.
func textsOf(value any) (all []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// names are the leaving versions of a target that are named. They are covered if a version that stays is named beside
// them, so that nothing stops. If not, beside are the versions of the CRD that would cover them if they stayed.
func (n *naming) names(t *Target) (versions, beside []string, covered bool) {
	if !slices.Contains(n.groups, anything) && !n.has(n.groups, t.Group) || !n.isKind(t) || !t.isResource(n.resources) || n.crd != "" && n.crd != t.CRD {
		return nil, nil, false
	}
	if slices.Contains(n.groups, anything) && n.kind == "" && len(n.resources) == 0 {
		return nil, nil, false // a rule about everything is not about this CRD
	}
	for _, version := range t.Leaving {
		if n.has(n.versions, version) {
			versions = append(versions, version)
		}
	}
	if !n.list && !n.patterns {
		return versions, nil, false
	}
	other := func(version string) bool { return !n.has(n.versions, version) && !slices.Contains(n.beside, version) }
	staying, all := t.Staying, t.listed
	if n.exact {
		staying, all = t.Served, t.served
	}
	if slices.Contains(slices.Concat(n.versions, n.beside), anything) || len(leaveOut(other, staying)) > 0 {
		return versions, nil, true
	}
	return versions, leaveOut(other, all), false
}

// has reports whether a text is one of some, or matches one of them if they may be patterns.
func (n *naming) has(texts []string, text string) bool {
	matches := func(pattern string) bool { return pattern != anything && matches(pattern, text) }
	return slices.Contains(texts, text) || n.patterns && slices.ContainsFunc(texts, matches)
}

// isKind reports whether objects of the kind, or of one that it matches, belong to the CRD.
func (n *naming) isKind(t *Target) bool {
	matches := func(own string) bool { return matches(n.kind, own) }
	return t.isKind(n.kind) || n.patterns && slices.ContainsFunc(t.Kinds, matches)
}

// what is the object that is named, for people, for example "Widget garden/rose".
func (n *naming) what() string {
	name := n.name
	if n.namespace != "" && name != "" {
		name = n.namespace + "/" + name
	}
	return strings.TrimSpace(n.kind + " " + words.Clip(name, mostName))
}

// mostName is the length of a namespace and a name, and clipped that of what is no name.
const (
	mostName = 63 + 1 + 253
	clipped  = 80
)

// clip keeps what is reported of a value short.
func clip(s string) string { return words.Clip(s, clipped) }
