package survivors

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/policies/words"
)

//go:embed places/*.yaml
var embedded embed.FS

// Embedded are the places that Moult knows. What they refer to is not to be changed.
func Embedded() []Place { return slices.Clone(loadPlaces()) }

var loadPlaces = sync.OnceValue(func() []Place {
	folder, err := fs.Sub(embedded, "places")
	if err == nil {
		var places []Place
		if places, err = Load(folder); err == nil {
			return places
		}
	}
	panic(err) // a test loads them
})

// Load reads all places of a folder: the files that end in .yaml, one place each, in the order of their names. An error names
// every file that is wrong, and what is wrong with it.
func Load(folder fs.FS) ([]Place, error) {
	files, err := fs.Glob(folder, "*.yaml")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("there is no file that ends in .yaml; each holds one place")
	}
	var places []Place
	var wrong []error
	for _, file := range files {
		place, err := read(folder, file)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", file, err))
			continue
		}
		places = append(places, place)
	}
	return places, errors.Join(wrong...)
}

// Join adds places to others. No two may have the same name.
func Join(places, more []Place) ([]Place, error) {
	all := slices.Clone(places)
	for _, p := range more {
		if slices.ContainsFunc(all, func(other Place) bool { return other.Name == p.Name }) {
			return nil, fmt.Errorf("there is a place %s already; give yours another name", p.Name)
		}
		all = append(all, p)
	}
	return all, nil
}

func read(folder fs.FS, file string) (place Place, err error) {
	content, err := fs.ReadFile(folder, file)
	if err != nil {
		return place, err
	}
	if err := unpacking.UnmarshalStrict(content, &place); err != nil {
		return place, err
	}
	if want := strings.TrimSuffix(path.Base(file), ".yaml"); place.Name != want {
		return place, fmt.Errorf("its name is %q; a place is called as its file, so %q", place.Name, want)
	}
	return place, place.compile()
}

var placeName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// compile checks a place, and prepares its paths. It reports everything that is wrong.
func (p *Place) compile() error {
	var wrong []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	check(placeName.MatchString(p.Name), "name %q has other characters than a-z, 0-9 and hyphens", p.Name)
	for field, sentence := range map[string]string{"title": p.Title, "consequence": p.Consequence, "remediation": p.Remediation, "tried": p.Tried} {
		check(strings.TrimSpace(sentence) != "", "%s is missing", field)
		check(!strings.ContainsAny(sentence, "\n|"), "%s is more than one line, or has a |, which no table holds", field)
	}
	check(len(p.Resources) > 0, "resources are missing; all is every resource")
	for _, s := range p.Resources {
		check(s.check(), "resource %q is none of all, <plural>.<group> and category:<name>", s)
	}
	check(slices.Contains(Effects, p.Effect), "effect %q is none of %s", p.Effect, list(Effects))
	check(slices.Contains(Clearers, p.Clears), "clears %q is none of %s", p.Clears, list(Clearers))
	check(len(p.Evidence) > 0, "evidence is missing: the address of what this rests on")
	for _, address := range p.Evidence {
		u, err := url.Parse(address)
		check(err == nil && u.Scheme == "https" && u.Host != "", "evidence %q is no https address", address)
	}
	if p.Stash() {
		check(slices.Contains(Conversions, p.Convert), "convert %q is none of %s; a place that holds whole objects says how they get to another version", p.Convert, list(Conversions))
	} else {
		check(p.Convert == "", "convert is for places of the shape %s", Object)
	}
	check(p.Move == "" || p.Convert == ByProject && MoveOf(p) != nil, "move %q is none that Moult knows, or convert is not %s; moveBy declares another", p.Move, ByProject)
	check(p.Move == "" || p.MoveBy == nil, "move and moveBy say two things")
	if p.MoveBy != nil {
		check(p.Convert == ByCRD || p.Convert == ByProject, "moveBy is for copies that can be converted, and convert is %q", p.Convert)
		if p.MoveBy.Name == "" {
			p.MoveBy.Name = p.Name
		}
		if err := p.MoveBy.check(p.Name, p.Convert); err != nil {
			wrong = append(wrong, fmt.Errorf("moveBy: %w", err))
		}
	}
	check(MoveOf(p) == nil || slices.ContainsFunc(p.Fields, func(f Field) bool { return f.Path == "data" && f.Shape == Object && len(f.Packing) == 0 }),
		"copies are moved that lie in the field data, unpacked")
	check(MoveOf(p) == nil || len(p.Groups) == 1, "copies are moved at places that are about exactly one group, and groups are %s", list(p.Groups))
	check(p.Secret == slices.Contains(p.Resources, Secrets), "secret is true for places in %s, and for no others", Secrets)
	for _, c := range slices.Concat(p.When, p.Unless) {
		check(len(c.Labels)+len(c.Lacks)+len(c.Owners)+len(c.Names) > 0, "a condition is empty, and so would always hold")
	}
	check(len(p.Fields) > 0, "fields are missing")
	for i := range p.Fields {
		if err := p.compileField(&p.Fields[i]); err != nil {
			wrong = append(wrong, fmt.Errorf("fields[%d]: %w", i, err))
		}
	}
	return errors.Join(wrong...)
}

func (p *Place) compileField(f *Field) (err error) {
	if !slices.Contains(Shapes, f.Shape) {
		return fmt.Errorf("shape %q is none of %s", f.Shape, list(Shapes))
	}
	if f.Effect != "" && !slices.Contains(Effects, f.Effect) {
		return fmt.Errorf("effect %q is none of %s", f.Effect, list(Effects))
	}
	if f.path, err = parsePath(f.Path); err != nil {
		return err
	}
	for _, word := range f.Packing {
		unpack, err := parsePacking(word)
		if err != nil {
			return err
		}
		f.packing = append(f.packing, unpack)
	}
	if n := len(f.path); f.Policy != "" && (f.Shape != GroupVersion || n < 2 || f.path[n-1] != every || f.path[n-2][0] != '.') {
		return fmt.Errorf("policy is for the shape %s and a path that ends in a list of rules, as in rules[*]", GroupVersion)
	}
	if p.Metadata && f.path[0] != ".metadata" {
		return fmt.Errorf("path %s is outside of metadata, so these are not enough", f.Path)
	}
	switch {
	case f.Payload == nil:
	case f.Shape != Object:
		return fmt.Errorf("payload is for the shape %s", Object)
	case f.Payload.Version == "" || f.Payload.Kind == "" || len(p.Groups) != 1:
		return errors.New("payload needs the labels of the version and the kind, and the place exactly one group")
	}
	return nil
}

var selector = regexp.MustCompile(`^(all|category:[a-z0-9-]+|(\*|[a-z0-9]+)(\.(\*|(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*))?)$`)

func (s Selector) check() bool { return selector.MatchString(string(s)) }

func list[S ~string](members []S) string {
	return strings.Join(words.Of(members, func(m S) string { return string(m) }), ", ")
}
