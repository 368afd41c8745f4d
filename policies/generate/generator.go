package generate

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/crdschema"
)

// Random is where chance comes from; *rand.Rand of math/rand/v2 is one.
type Random interface{ Int64N(n int64) int64 }

const (
	// repairs is how often what is invalid in an object is made anew or left out before it is thrown away.
	repairs = 8
	// tries is how many objects may be thrown away for each that is asked for, and atLeast how many in any case, and in vain.
	tries, atLeast = 4, 200
	// values is about how many an object has beside those that it must have.
	values = 60
	// fullTries is how many objects are made for the one with the most fields, which has about fullValues values.
	fullTries, fullValues = 20, 1000
	// deepest is how deep optional fields are made that an object is not about.
	deepest = 10
)

// Generator makes objects of one CRD at one version. It is for one goroutine at a time.
type Generator struct {
	engine     *conversion.Engine
	version    string
	apiVersion string
	kind       string
	namespaced bool
	random     Random

	reads    *crdschema.Version
	paths    []focus
	patterns map[string]*pattern
	given    map[string][]any
	next     int  // the field of the next object
	left     int  // values that may still be made, beside those that an object must have
	full     bool // all fields are made
	missed   map[string]focus
	had      map[string]bool // fields that an object about them has
}

// Options is what a Generator has to know beside the engine.
type Options struct {
	Version, APIVersion, Kind string
	Namespaced                bool
	// Values are what is taken at a path, such as spec.hosts[*].timeout, where the schema does not say it all.
	Values map[string][]any
}

// New makes a generator; the engine has to have the version.
func New(e *conversion.Engine, o Options, random Random) *Generator {
	g := &Generator{engine: e, version: o.Version, apiVersion: o.APIVersion, kind: o.Kind, namespaced: o.Namespaced, random: random,
		reads: e.Version(o.Version), patterns: map[string]*pattern{}, given: o.Values, missed: map[string]focus{}, had: map[string]bool{}}
	if g.reads.Schema != nil {
		g.paths = pathsOf(g.reads.Schema)
	}
	return g
}

// Made are objects that the API server takes.
type Made struct {
	Objects    []map[string]any
	ThrownAway int64
	// Why is what was against the last one that was thrown away; empty if there is none.
	Why string
}

// Make makes n objects more, or fewer if it is hard to make one.
func (g *Generator) Make(ctx context.Context, n int) (made Made) {
	for tried := 0; len(made.Objects) < n && tried < tries*n+atLeast && ctx.Err() == nil; tried++ {
		if tried >= atLeast && len(made.Objects) == 0 {
			break
		}
		object, why := g.one(ctx)
		if why != "" {
			made.ThrownAway, made.Why = made.ThrownAway+1, why
			continue
		}
		made.Objects = append(made.Objects, object)
	}
	return made
}

// one is an object about the next field, or why there is none.
func (g *Generator) one(ctx context.Context) (object map[string]any, why string) {
	var about focus
	if len(g.paths) > 0 {
		about = g.paths[g.next%len(g.paths)]
	}
	g.next++
	g.left = values
	object, ok := g.root(about, g.next)
	if ok {
		object, why = g.repaired(ctx, object)
	}
	g.note(about, object, why)
	if !ok {
		return nil, "a field that has to be there cannot be made; its pattern, enum or limits leave nothing"
	}
	return object, why
}

// note keeps in mind which fields no object has that was about them.
func (g *Generator) note(about focus, object map[string]any, why string) {
	if why == "" {
		for text, missed := range g.missed {
			if missed.isIn(object) {
				delete(g.missed, text)
			}
		}
	}
	switch text := about.String(); {
	case len(about) == 0:
	case why == "" && about.isIn(object):
		g.had[text] = true
	case !g.had[text]:
		g.missed[text] = about
	}
}

// Full is an object with as many fields as there can be, up to a limit; nil if none is valid.
func (g *Generator) Full(ctx context.Context) map[string]any {
	var best map[string]any
	g.full = true
	for range fullTries {
		g.left = fullValues
		object, ok := g.root(nil, 0)
		if !ok {
			continue
		}
		if object, why := g.repaired(ctx, object); why == "" && Size(object) > Size(best) {
			best = object
		}
	}
	g.full = false
	if best != nil {
		return best
	}
	for _, object := range g.Make(ctx, fullTries).Objects {
		if best == nil || Size(object) > Size(best) {
			best = object
		}
	}
	return best
}

// Missed are the fields that none of the objects has although some were to be about them: what they were given was never valid.
func (g *Generator) Missed() []string { return sortedKeys(g.missed) }

func (g *Generator) root(about focus, i int) (map[string]any, bool) {
	object := map[string]any{}
	if s := g.reads.Schema; s != nil {
		made, ok := g.value(node{schema: s}, about, "", 0)
		content, is := made.(map[string]any)
		if !ok || !is {
			return nil, false
		}
		object = content
	}
	meta := map[string]any{"name": fmt.Sprintf("generated-%d", i)}
	if g.namespaced {
		meta["namespace"] = "default"
	}
	if g.one1in(4) {
		meta["labels"], meta["annotations"] = map[string]any{"example.com/label": "a"}, map[string]any{"example.com/annotation": "b"}
	}
	object["apiVersion"], object["kind"], object["metadata"] = g.apiVersion, g.kind, meta
	return object, true
}

// Valid reports whether the API server takes an object.
func (g *Generator) Valid(ctx context.Context, object map[string]any) bool {
	read, err := g.reads.Read(object)
	return err == nil && len(g.engine.Problems(ctx, g.version, read)) == 0
}

// repaired is an object without what the API server has something against.
func (g *Generator) repaired(ctx context.Context, object map[string]any) (map[string]any, string) {
	why := ""
	for round := range repairs {
		read, err := g.reads.Read(object)
		if err != nil {
			return nil, err.Error()
		}
		errs := g.engine.Problems(ctx, g.version, read)
		if len(errs) == 0 {
			return object, ""
		}
		if why == "" { // what is repaired may break something else
			why = conversion.Said(errs)[0]
		}
		for _, e := range errs {
			at := locate(object, e.Field)
			if len(at) == 0 {
				return nil, why
			}
			g.repair(object, at, round)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, why
}

// repair makes anew what lies at a path, or takes it out: at first the former, and later more and more around it.
func (g *Generator) repair(object map[string]any, at crdschema.Path, round int) {
	n := node{schema: crdschema.SchemaAt(g.reads.Schema, at)}
	if n.schema != nil && round < repairs/2 && len(at) > 0 {
		g.left = values / 4
		if made, ok := g.value(n, nil, at.String(), len(at)); ok {
			crdschema.Put(object, at, made)
			return
		}
	}
	at = at[:max(1, len(at)-max(0, round-repairs/2-1))]
	remove(object, at)
}

func (g *Generator) below(n int64) int64 {
	if n <= 1 {
		return 0
	}
	return g.random.Int64N(n)
}

func (g *Generator) one1in(n int64) bool { return g.below(n) == 0 }

func pick[T any](g *Generator, from []T) T { return from[g.below(int64(len(from)))] }

func copied(v any) any { return runtime.DeepCopyJSONValue(v) }
