package survivors

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/moult-dev/moult/policies/unpacking"
)

//go:embed moves/*.yaml
var embeddedMoves embed.FS

// Move is how stashed copies get to another version where each lies in an object of its own, in the field data, that
// cannot be changed. The object gets a successor with another name, and what names it is changed to name that. Its YAML
// form is the format of the files in the folder moves.
type Move struct {
	// Name is what places call it by. One that is a place's own has the place's.
	Name string `json:"name"`
	// Successor is what the object with the converted copy is called: {owner} is the object's controller, and {name}, {version},
	// {uid} and {generation} are those of the converted copy.
	Successor string `json:"successor"`
	// Rules convert the copies. One that no rule is for is left. There are none where the CRD's conversion does it (ByCRD).
	Rules []Rule `json:"rules,omitempty"`
	// Bare are copies that do not tell what they are. The first that fits is taken.
	Bare []Bare `json:"bare,omitempty"`
	// References are the fields that name such an object, in its namespace.
	References []NameField `json:"references"`
	// Busy are objects that take copies for a while before anything names them: nothing is touched in their namespace until they
	// are done.
	Busy []Work `json:"busy,omitempty"`
	// Controller moves some of the copies by itself.
	Controller *Mover `json:"controller,omitempty"`
	// Evidence are the addresses of what the above rests on.
	Evidence []string `json:"evidence"`
}

// Rule converts copies of some kinds.
type Rule struct {
	Kinds []string `json:"kinds"`
	From  []string `json:"from"`
	To    string   `json:"to"`
	// Fields are those that spec has at From, each with the fields in it, or with none where it is as it is at To, whatever is in
	// it. Others are dropped, as the project's own decoder does: at To they could mean something.
	Fields map[string][]string `json:"fields"`
	// Defaults are set where a field is missing, by their paths.
	Defaults map[string]any `json:"defaults,omitempty"`
	// DropEmpty are paths of texts that are dropped where they are empty.
	DropEmpty []string `json:"dropEmpty,omitempty"`
}

// Bare is a copy that has the fields apiVersion and spec and no other, with the spec as JSON in base64. It is taken for an
// object of a kind if it has none but the fields that the kind's rule has.
type Bare struct {
	Kind    string `json:"kind"`
	Version string `json:"version"`
	// Name is what the object in the converted copy is called.
	Name string `json:"name"`
}

// NameField are fields that hold the name of an object.
type NameField struct {
	// Resource is as in virtualmachines.kubevirt.io.
	Resource string   `json:"resource"`
	Paths    []string `json:"paths"`
	// Names are patterns of which the referring object's name matches one. Empty: any.
	Names []string `json:"names,omitempty"`
	// Fixed, if set, says that the fields cannot be changed, and when they go.
	Fixed string `json:"fixed,omitempty"`
}

// Work is a resource whose objects are work that goes on until one of its ends is there.
type Work struct {
	Resource string `json:"resource"`
	Ends     []End  `json:"ends"`
}

// End is a field that has one of some values, as text.
type End struct {
	Path   string   `json:"path"`
	Values []string `json:"values"`
}

// Mover is a controller of the project that moves copies by itself.
type Mover struct {
	Name string `json:"name"`
	// Resource and Path are where the version of the project is that runs.
	Resource string `json:"resource"`
	Path     string `json:"path"`
	// Since is the first version that does it, and Until the first that does not any more.
	Since string `json:"since"`
	Until string `json:"until"`
	// Owners are kinds with their groups: it moves copies in objects that one of these owns and names.
	Owners []string `json:"owners"`
}

// Moves are all that Moult knows. They are not to be changed.
func Moves() []Move { return loadMoves() }

var loadMoves = sync.OnceValue(func() []Move {
	files, err := fs.Glob(embeddedMoves, "moves/*.yaml")
	if err != nil {
		panic(err) // the pattern is constant
	}
	var all []Move
	for _, file := range files {
		move, err := readMove(file)
		if err != nil {
			panic(fmt.Errorf("%s: %w", file, err)) // a test loads them
		}
		all = append(all, move)
	}
	return all
})

// MoveOf is how the copies of a place are moved; nil if that is not declared.
func MoveOf(p *Place) *Move {
	if p.Move == "" {
		return p.MoveBy
	}
	moves := Moves()
	if i := slices.IndexFunc(moves, func(m Move) bool { return m.Name == p.Move }); i >= 0 {
		return &moves[i]
	}
	return nil
}

func readMove(file string) (m Move, err error) {
	content, err := embeddedMoves.ReadFile(file)
	if err != nil {
		return m, err
	}
	if err := unpacking.UnmarshalStrict(content, &m); err != nil {
		return m, err
	}
	return m, m.check(strings.TrimSuffix(path.Base(file), ".yaml"), ByProject)
}

// check reports everything that is wrong with a move whose copies are converted so.
func (m *Move) check(name string, by Conversion) error {
	var wrong []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	paths := func(all ...string) {
		for _, text := range all {
			if _, err := pointer(text); err != nil {
				wrong = append(wrong, err)
			}
		}
	}
	check(m.Name == name, "its name is %q; a move is called as its file, so %q", m.Name, name)
	check(m.Successor != "" && len(m.References) > 0 && len(m.Evidence) > 0, "successor, references or evidence are missing")
	if by == ByCRD {
		check(len(m.Rules)+len(m.Bare) == 0, "rules and bare are not for copies that the CRD's conversion converts")
	} else {
		check(len(m.Rules) > 0, "rules are missing")
	}
	for _, r := range m.Rules {
		check(len(r.Kinds) > 0 && len(r.From) > 0 && r.To != "" && len(r.Fields) > 0, "a rule lacks kinds, from, to or fields")
		check(!slices.Contains(r.From, r.To), "a rule is from %s to %s", r.To, r.To)
		for path := range r.Defaults {
			paths(path)
		}
		paths(r.DropEmpty...)
	}
	for _, b := range m.Bare {
		check(m.rule(b.Kind, b.Version) != nil, "no rule is for a bare %s at %s", b.Kind, b.Version)
	}
	for _, f := range m.References {
		check(f.Resource != "" && len(f.Paths) > 0, "a reference lacks the resource or paths")
		paths(f.Paths...)
	}
	for _, w := range m.Busy {
		check(w.Resource != "" && len(w.Ends) > 0, "busy lacks the resource or ends")
		for _, end := range w.Ends {
			_, err := parsePath(end.Path)
			check(err == nil && len(end.Values) > 0, "an end of %s is wrong", w.Resource)
		}
	}
	if c := m.Controller; c != nil {
		check(c.Name != "" && c.Resource != "" && c.Since != "" && c.Until != "" && len(c.Owners) > 0, "the controller lacks a field")
		paths(c.Path)
	}
	return errors.Join(wrong...)
}

// rule is the one for a kind at a version.
func (m *Move) rule(kind, version string) *Rule {
	for i := range m.Rules {
		if r := &m.Rules[i]; slices.Contains(r.Kinds, kind) && slices.Contains(r.From, version) {
			return r
		}
	}
	return nil
}

// pointer is a path as a JSON pointer. It can have names only.
func pointer(text string) (string, error) {
	parsed, err := parsePath(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, s := range parsed {
		if s == every || s == deep {
			return "", fmt.Errorf("path %q is not one field", text)
		}
		out.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(s[1:]))
	}
	return out.String(), nil
}
