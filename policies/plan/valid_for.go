package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// ValidFor is the evidence that is valid for a CRD as it is observed now. Its condition may
// have the work of an earlier process, or of another one that was faster.
func (e Evidence) ValidFor(o Observation, recorded Recorded, settle time.Duration) Evidence {
	shape, edits := e.shape(o, settle), e.edits(o.Subject) // whatever becomes of the rest
	e = e.about(o.Subject, o.Now, settle)
	switch {
	case !e.Proved && recorded.proves(settle):
		e = Begin(o.Subject, recorded, o.Now, settle)
	case e.Proved && recorded.proves(e.Settle): // two that put each other's words right would never stop
		e.Settle, e.Last = recorded.Settle, recorded.Counts
	}
	e = e.at(o.ResourceVersion, o.Now, settle)
	e.Survey = e.Survey.allowing(o.MayLose)
	e = e.dropping(o.MayDrop)
	e = e.Seen(o.Clean(), o.Now, settle).serving(o.Unserved, o.Now, settle)
	e.Shape, e.Edits = shape, edits
	return e
}

// edits is how often in a row the spec has changed before it was proved.
func (e Evidence) edits(s Subject) int {
	switch {
	case e.Proved || e.UID != s.UID:
		return 0
	case e.Generation != s.Generation:
		return e.Edits + 1
	default:
		return e.Edits
	}
}

// follows reports whether a CRD was seen in every state up to this one: generation + 1 means that nothing can hide in between.
func (e Evidence) follows(s Subject) bool {
	return e.UID == s.UID && (s.Generation == e.Generation || s.Generation == e.Generation+1)
}

// about carries evidence over to what the CRD is now. A finished proof reaches over one observed spec change that leaves the
// storage version alone: no flip can hide in between. Anything else starts again.
func (e Evidence) about(s Subject, now time.Time, settle time.Duration) Evidence {
	switch {
	case e.Subject == s:
		return e
	case e.Proved && e.StorageVersion == s.StorageVersion && e.follows(s):
		e.Subject, e.Survey = s, Surveyed{}
		return e
	default:
		return Begin(s, Recorded{}, now, settle)
	}
}

// at is the evidence beside the CRD at a resourceVersion. One that is older than
// the last one seen means that etcd was restored, and the objects with it: then
// nothing that was found out since holds.
func (e Evidence) at(resourceVersion string, now time.Time, settle time.Duration) Evidence {
	if Older(resourceVersion, e.SeenRV) {
		e = Begin(e.Subject, Recorded{}, now, settle)
	}
	e.SeenRV = resourceVersion
	return e
}

// Older reports whether a resourceVersion of an object was given out before another
// one. It is false where they cannot be compared.
func Older(resourceVersion, than string) bool {
	order, err := resourceversion.CompareResourceVersion(resourceVersion, than)
	return err == nil && order < 0
}

// Seen is the evidence beside a storedVersions that is clean, or is not. One that
// is dirty again, at the same generation, after it was clean, contradicts the
// proof. Somebody has put an older state back, a snapshot of etcd for example,
// and the objects with it. Then nothing that was proved before holds.
func (e Evidence) Seen(clean bool, now time.Time, settle time.Duration) Evidence {
	switch {
	case !e.Proved:
		return e
	case clean:
		e.Trimmed, e.Failure, e.Failures, e.RetryAt = true, nil, 0, time.Time{} // a trim that failed has been made up for
		return e
	case e.Trimmed:
		return Begin(e.Subject, Recorded{}, now, settle)
	default:
		return e
	}
}

// Shape is a digest of the schemas and the conversion of a CRD. Until is when every API server goes by them, and answers by itself, by
// the same assumption as WindowEnd. A write through one that lags would drop the fields that an earlier schema does not have, or that no webhook
// converts yet. What Moult has seen in objects does not show that.
type Shape struct {
	Digest string
	Until  time.Time
}

// shape is that of a CRD as it is observed now. What was not seen in between may have been another one, and back again, and an API
// server that lags may still go by that.
func (e Evidence) shape(o Observation, settle time.Duration) Shape {
	known := e.Shape
	if !e.follows(o.Subject) {
		known = Shape{}
	}
	known = known.seen(o.Shape, o.Now, settle)
	if !o.Routed.IsZero() {
		known.Until = later(known.Until, o.Routed.Add(settle))
	}
	return known
}

// seen is a shape when the CRD has this one. One that was there before this process saw it may be new.
func (s Shape) seen(digest string, now time.Time, settle time.Duration) Shape {
	if s.Digest == digest {
		return s
	}
	return Shape{digest, now.Add(settle)}
}

// serving is the evidence beside the versions that are not served.
func (e Evidence) serving(unserved []string, now time.Time, settle time.Duration) Evidence {
	until := make(map[string]time.Time, len(unserved))
	for _, version := range unserved {
		until[version] = now.Add(settle)
		if known, ok := e.WritableUntil[version]; ok {
			until[version] = known
		}
	}
	e.WritableUntil = until
	return e
}
