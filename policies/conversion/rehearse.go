package conversion

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/words"
)

// Outcome is what becomes of one object when it is stored at the storage version, and read at its own again.
type Outcome struct {
	// Object is namespace/name, and From the version that it is written at.
	Object string `json:"object"`
	From   string `json:"from"`
	// Lost are the paths that are not there any more for clients of the version, sorted; list items are named by their
	// index. What is only a default of the version is no loss.
	Lost []string `json:"lost,omitempty"`
	// Changed are those that have another value then, and Respelled those that have the same one, written otherwise.
	Changed   []string `json:"changed,omitempty"`
	Respelled []string `json:"respelled,omitempty"`
	// Added are those that were not there before. Undefaulted are those that had their default, which the API server
	// fills in only at the version that an object is stored at.
	Added       []string `json:"added,omitempty"`
	Undefaulted []string `json:"undefaulted,omitempty"`
	// Failed is why the object cannot be converted, there or back, or what else is wrong with the conversion.
	Failed []Failure `json:"failed,omitempty"`
	// Refused is why the API server would not take the object as it then is, although nothing in it changes. Values are left out.
	Refused []string `json:"refused,omitempty"`
	// Ratcheted is what is against the schema, and is let pass for as long as it does not change.
	Ratcheted []string `json:"ratcheted,omitempty"`
	// Unknown says why nothing can be told; else empty.
	Unknown string `json:"unknown,omitempty"`
}

// IsSame reports whether the object comes back as it was, and is not refused.
func (o *Outcome) IsSame() bool {
	return len(o.Lost)+len(o.Changed)+len(o.Added)+len(o.Undefaulted)+len(o.Failed)+len(o.Refused) == 0 && o.Unknown == ""
}

// IsOf reports whether an object is one of the CRD's.
func (e *Engine) IsOf(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && gv.Group == e.group && object["kind"] == e.kind
}

// Rehearse reports what becomes of an object that is read at the version that it names. It does not change it.
func (e *Engine) Rehearse(ctx context.Context, object map[string]any) Outcome {
	return e.RehearseAll(ctx, []map[string]any{object})[0]
}

// RehearseAll does so for several objects, which a webhook is asked about in one request for each version.
func (e *Engine) RehearseAll(ctx context.Context, objects []map[string]any) []Outcome {
	return words.Of(e.Trips(ctx, objects), func(trip Trip) Outcome { return trip.Outcome })
}

// Losses does so without asking what the API server would refuse, and holds each object as often as it has to: as it is given, read,
// stored and read again. All of them may take so many bytes of memory as they are stored, and as many as they are read again.
func (e *Engine) Losses(ctx context.Context, objects []map[string]any, most int64) []Outcome {
	return words.Of(e.trips(ctx, objects, most, e.fill), func(j *journey) Outcome { return j.outcome })
}

// Trip is the way of one object there and back.
type Trip struct {
	Outcome

	// Before is the object as it is read at its own version, There as it is stored then, and Back as it is read again. What it does
	// not get to is nil.
	Before, There, Back map[string]any
}

// Trips are those of several objects, as RehearseAll has them.
func (e *Engine) Trips(ctx context.Context, objects []map[string]any) []Trip {
	return words.Of(e.trips(ctx, objects, math.MaxInt64, e.store), func(j *journey) Trip { return Trip{j.outcome, j.before, j.there, j.back} })
}

func (e *Engine) trips(ctx context.Context, objects []map[string]any, most int64, store func(context.Context, *journey)) []*journey {
	all := e.there(withRoom(ctx, most), objects, store)
	ctx = withRoom(ctx, most)
	for name := range e.versions {
		if name != e.Storage {
			e.convert(ctx, pick(all, func(j *journey) bool { return j.outcome.From == name }), name, e.compare)
		}
	}
	return all
}

// Stored are several objects as they are stored; nil is one that cannot be converted.
func (e *Engine) Stored(ctx context.Context, objects []map[string]any) []map[string]any {
	return words.Of(e.there(ctx, objects, e.store), func(j *journey) map[string]any { return j.there })
}

// Converted is an object at another version, as the API server has it when it has converted it: without defaults.
func (e *Engine) Converted(ctx context.Context, object map[string]any, to string) (converted map[string]any, err error) {
	switch {
	case e.versions[to] == nil:
		return nil, fmt.Errorf("the CRD has no version %s", to)
	case object["apiVersion"] == e.group+"/"+to:
		return runtime.DeepCopyJSON(object), nil
	case e.converter == nil:
		return nil, errors.New("a webhook converts it, and is not asked")
	}
	j := &journey{at: object}
	if err = e.request(ctx, []*journey{j}, to, func(_ *journey, is map[string]any) { converted = is }); err == nil && converted == nil {
		err = j.outcome.Failed[0]
	}
	return converted, err
}

// there begins the journeys, up to where the objects are stored.
func (e *Engine) there(ctx context.Context, objects []map[string]any, store func(context.Context, *journey)) []*journey {
	all := words.Of(objects, e.start)
	e.convert(ctx, pick(all, func(j *journey) bool { return j.outcome.From != e.Storage }), e.Storage, func(j *journey, there map[string]any) { j.at = there })
	for _, j := range pick(all, func(*journey) bool { return true }) {
		store(ctx, j)
	}
	return all
}

// journey is that of one object: read at its version, converted, stored at the storage version, and converted back.
type journey struct {
	outcome Outcome
	// object is what is given, before what the API server reads of it at its version, and at how it is now.
	object, before, at map[string]any
	// there is the object as it is stored, and back as it is read at its own version then.
	there, back map[string]any
	ended       bool
}

// pick are the journeys that go on, of those that are wanted.
func pick(all []*journey, wanted func(*journey) bool) (picked []*journey) {
	for _, j := range all {
		if !j.ended && wanted(j) {
			picked = append(picked, j)
		}
	}
	return picked
}

// fail ends a journey. A webhook that cannot be reached from here may still be there for the API server.
func (j *journey) fail(f Failure) {
	j.ended = true
	if f.Fault == FaultUnreachable {
		j.outcome.Unknown = f.Error()
		return
	}
	j.outcome.Failed = append(j.outcome.Failed, f)
}

// tooLarge ends a journey at the storage version.
func (j *journey) tooLarge(at string, err error) {
	j.fail(Failure{Fault: FaultTooLarge, To: at, Says: err.Error()})
}

func (j *journey) lose(paths crdschema.Texts) {
	j.outcome.Lost = append(j.outcome.Lost, paths.Sorted()...)
	slices.Sort(j.outcome.Lost)
	j.outcome.Lost = slices.Compact(j.outcome.Lost)
}

// start reads an object at its own version, which may know less than the one that it was written by.
func (e *Engine) start(object map[string]any) *journey {
	apiVersion, _ := object["apiVersion"].(string)
	_, from, _ := strings.Cut(apiVersion, "/")
	j := &journey{outcome: Outcome{Object: nameOf(object), From: from}, object: object}
	own := e.versions[from]
	switch {
	case own == nil:
		j.outcome.Unknown = fmt.Sprintf("the CRD has no version %s, so nothing reads it", from)
	case from != e.Storage && e.converter == nil:
		j.outcome.Unknown = "a webhook converts it, and is not asked; --webhook says how"
	}
	if j.ended = j.outcome.Unknown != ""; j.ended {
		return j
	}
	before, err := own.Read(object)
	if err != nil {
		j.fail(Failure{Fault: FaultFailed, To: from, Says: err.Error()})
		return j
	}
	j.before, j.at = before, before
	lost, no := crdschema.Texts{}, func(crdschema.Path) {}
	crdschema.Compare(object, before, func(p crdschema.Path) {
		if crdschema.At(object, p) != nil { // what is null is as good as not there
			lost.Add(p)
		}
	}, no, no)
	j.lose(lost)
	return j
}

// store writes an object at the storage version: with defaults filled in, and in place of itself.
func (e *Engine) store(ctx context.Context, j *journey) {
	to, old := e.versions[e.Storage], j.at
	j.at = runtime.DeepCopyJSON(old)
	if err := to.Fill(j.at); err != nil {
		j.tooLarge(e.Storage, err)
		return
	}
	j.there = j.at
	j.outcome.Refused = Said(to.refused(ctx, runtime.DeepCopyJSON(j.at), old))
	for _, problem := range Said(to.refused(ctx, runtime.DeepCopyJSON(j.at), nil)) {
		if !slices.Contains(j.outcome.Refused, problem) {
			j.outcome.Ratcheted = append(j.outcome.Ratcheted, problem)
		}
	}
}

// fill fills in defaults of the storage version, in what no one else holds, as far as there is room for them. An object that is read at it
// has them.
func (e *Engine) fill(ctx context.Context, j *journey) {
	if j.outcome.From != e.Storage {
		to := e.versions[e.Storage]
		adds, most := to.Add(j.at), min(Room(ctx), crdschema.MostFilled)
		if adds > most {
			j.tooLarge(e.Storage, &crdschema.TooLarge{Version: e.Storage, Most: most})
			return
		}
		if err := to.Fill(j.at); err != nil {
			j.tooLarge(e.Storage, err)
			return
		}
		*left(ctx) -= adds
	}
	j.there = j.at
}

// compare reports what a client of the object's own version reads otherwise than before.
func (e *Engine) compare(j *journey, back map[string]any) {
	j.back = back
	own, o := e.versions[j.outcome.From], &j.outcome
	var lost, undefaulted, changed, respelled, added crdschema.Texts
	crdschema.Compare(j.before, back, func(p crdschema.Path) {
		switch {
		case own.IsAbsent(j.before, p, nil):
		case own.IsDefault(j.object, p):
			undefaulted.Add(p)
		default:
			lost.Add(p)
		}
	}, func(p crdschema.Path) {
		if own.Respelled(p, crdschema.At(j.before, p), crdschema.At(back, p)) {
			respelled.Add(p)
		} else {
			changed.Add(p)
		}
	}, added.Add)
	j.lose(lost)
	o.Undefaulted, o.Respelled = append(o.Undefaulted, undefaulted.Sorted()...), append(o.Respelled, respelled.Sorted()...)
	o.Changed, o.Added = append(o.Changed, changed.Sorted()...), append(o.Added, added.Sorted()...)
}

func nameOf(object map[string]any) string {
	named := unstructured.Unstructured{Object: object}
	return words.FullName(named.GetNamespace(), named.GetName())
}

// Said are errors without the values that break something: they differ from object to object, and may be secret.
func Said(errs field.ErrorList) (all []string) {
	for _, err := range errs {
		text := err.Type.String()
		if err.Field != "" && err.Field != "<nil>" {
			text = err.Field + ": " + text
		}
		if err.Detail != "" {
			text += ": " + err.Detail
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
