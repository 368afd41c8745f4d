package roundtrip

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/words"
)

// Problem is what is found about one object on one way. An unknown one has no Kind.
type Problem struct {
	Kind Kind
	// What is a path, or a sentence.
	What string
	// Fault is what is wrong with a conversion, and Says what is said of it; else empty.
	Fault conversion.Fault
	Says  string
	// Was and Is are the values at the path, where there is one.
	Was, Is any
}

// problems are what a trip shows.
func (c *Checker) problems(e *conversion.Engine, o Object, trip *conversion.Trip) (all []Problem) {
	if trip.Unknown != "" {
		return []Problem{{What: trip.Unknown}}
	}
	for _, f := range trip.Failed {
		all = append(all, Problem{Kind: NotConverted, What: "to " + f.To + ": " + f.Fault.String(), Fault: f.Fault, Says: f.Says})
	}
	for _, what := range trip.Refused {
		all = append(all, Problem{Kind: Refused, What: what})
	}
	for _, what := range trip.Ratcheted {
		all = append(all, Problem{Kind: Ratcheted, What: what})
	}
	if trip.Back == nil {
		return all
	}
	own, there := e.Version(trip.From), e.Version(e.Storage)
	for _, d := range c.differences(o, trip) {
		all = append(all, c.judge(d, o, trip, own, there))
	}
	return all
}

// way is how a path differs.
type way int

const (
	lost way = iota
	changed
	added
)

type difference struct {
	way  way
	path crdschema.Path
}

// differences are those between an object and what it is after a trip. With a file that says what it is to be then, those that are
// as that says are left out, unless they confirm something.
func (c *Checker) differences(o Object, trip *conversion.Trip) (all []difference) {
	all = append(unread(o.Content, trip.Before), between(trip.Before, trip.Back)...)
	if o.After == nil {
		return all
	}
	expected := between(o.After, trip.Back)
	return slices.DeleteFunc(all, func(d difference) bool {
		return !c.confirms(d.path.String()) && !slices.ContainsFunc(expected, func(other difference) bool { return overlap(d.path, other.path) })
	})
}

func between(before, after map[string]any) (all []difference) {
	change := crdschema.ChangeOf(before, after)
	for i, paths := range [][]crdschema.Path{lost: change.Lost, changed: change.Changed, added: change.Added} {
		for _, p := range paths {
			all = append(all, difference{way(i), p})
		}
	}
	return all
}

// unread are the fields of an object that its own version does not know.
func unread(object, before map[string]any) (all []difference) {
	for _, p := range crdschema.ChangeOf(object, before).Lost {
		if crdschema.At(object, p) != nil {
			all = append(all, difference{lost, p})
		}
	}
	return all
}

// judge says what a difference is. The order of the cases is the rule.
func (c *Checker) judge(d difference, o Object, trip *conversion.Trip, own, there *crdschema.Version) Problem {
	was, is := crdschema.At(trip.Before, d.path), crdschema.At(trip.Back, d.path)
	p := Problem{What: d.path.String(), Was: was, Is: is}
	if was == nil && d.way != added {
		p.Was = crdschema.At(o.Content, d.path)
	}
	switch {
	case c.confirms(p.What):
		p.Kind = Confirmation
	case d.way == added && there.IsDefault(trip.There, d.path) && crdschema.At(trip.There, d.path) != nil:
		p.Kind = Defaulted
	case d.way == added:
		p.Kind = Added
	case d.way == lost && own.IsDefault(o.Content, d.path):
		p.Kind = Undefaulted
	case d.way == lost && crdschema.IsEmpty(p.Was):
		p.Kind = Empty
	case d.way == changed && own.Respelled(d.path, was, is):
		p.Kind = Respelled
	case len(d.path) > 0 && d.path[0] == "status":
		p.Kind = Status
	case d.way == lost:
		p.Kind = Lost
	case own.IsDefault(trip.Back, d.path), there.IsDefault(trip.There, d.path):
		p.Kind = Overwritten
	default:
		p.Kind = Changed
	}
	return p
}

// confirms reports whether a path is on the way to a confirmation, or below one.
func (c *Checker) confirms(at string) bool {
	at = crdschema.Unquoted(at)
	return slices.ContainsFunc(c.confirmations, func(path string) bool {
		path = crdschema.Unquoted(path)
		return covers(path, at) || covers(at, path)
	})
}

// NotLookedAt is the error of a trip of which nothing is known, and says why.
type NotLookedAt string

func (n NotLookedAt) Error() string { return string(n) }

// After is what an object is after a trip to each other version, if something fails then that a file can accept, and
// what that is. It is an error if the trips end differently: then there is nothing that it is to be.
func (c *Checker) After(ctx context.Context, o Object) (after map[string]any, lost []string, err error) {
	for _, via := range c.engine.Served() {
		if via == versionOf(o) {
			continue
		}
		e := c.engine.StoredAt(via)
		trip := e.Trips(ctx, []map[string]any{o.Content})[0]
		var fails []string
		for _, p := range c.problems(e, o, &trip) {
			if p.Kind.Fails() && p.Kind != Confirmation {
				fails = append(fails, fmt.Sprintf("%s: %s", p.Kind, p.What))
			}
		}
		switch {
		case trip.Unknown != "":
			return nil, nil, NotLookedAt(trip.Unknown)
		case trip.Back == nil:
			return nil, nil, fmt.Errorf("through %s it is %s", via, strings.Join(fails, ", "))
		case len(fails) == 0:
		case after != nil && !reflect.DeepEqual(after, trip.Back):
			return nil, nil, fmt.Errorf("the trips to the other versions end differently: %s", words.Few(words.Distinct(append(lost, fails...)), 5))
		default:
			after, lost = trip.Back, fails
		}
	}
	return after, lost, nil
}

// unstable are the problems of a second trip. One that fails as the first one has is nothing new.
func unstable(trip *conversion.Trip, failed bool) (all []Problem) {
	for _, f := range trip.Failed {
		if failed {
			break
		}
		all = append(all, Problem{Kind: Unstable, What: "cannot be converted a second time", Fault: f.Fault, Says: f.Says})
	}
	for _, paths := range [][]string{trip.Lost, trip.Changed, trip.Added} {
		for _, path := range paths {
			all = append(all, Problem{Kind: Unstable, What: path})
		}
	}
	return all
}

// overlap reports whether one path leads through the other.
func overlap(a, b crdschema.Path) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// covers reports whether a path is another one, or leads to it.
func covers(path, other string) bool {
	rest, found := strings.CutPrefix(other, path)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func versionOf(o Object) string {
	apiVersion, _ := o.Content["apiVersion"].(string)
	_, version, _ := strings.Cut(apiVersion, "/")
	return version
}

// has reports whether an object has a value at a path, as it is written: its keys may have dots.
func has(value any, path string) bool {
	if path == "" {
		return value != nil
	}
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if covers(name, path) && has(inner, strings.TrimPrefix(path[len(name):], ".")) {
				return true
			}
		}
	case []any:
		for i, inner := range value {
			if at := fmt.Sprintf("[%d]", i); strings.HasPrefix(path, at) && has(inner, strings.TrimPrefix(path[len(at):], ".")) {
				return true
			}
		}
	}
	return false
}
