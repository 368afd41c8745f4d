package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// ValidFor is the evidence that is valid for a CRD as it is observed now. Its condition may
// have the work of an earlier process, or of another one that was faster.
func (e Evidence) ValidFor(o Observation, recorded Recorded, settle time.Duration) Evidence {
	shape := e.Shape.seen(o.Shape, o.Now, settle) // whatever becomes of the rest
	e = e.about(o.Subject, o.Now, settle)
	if recorded.proves(settle) && !e.Proved {
		e = Begin(o.Subject, recorded, o.Now, settle)
	}
	e = e.at(o.ResourceVersion, o.Now, settle)
	e.Survey = e.Survey.allowing(o.MayLose)
	e = e.dropping(o.MayDrop)
	e = e.Seen(o.Clean(), o.Now, settle).serving(o.Unserved, o.Now, settle)
	e.Shape = shape
	return e
}

// about carries evidence over to what the CRD is now. A finished proof reaches
// over one observed spec change that leaves the storage version alone:
// generation + 1 means that no flip can hide in between. Anything else starts
// again.
func (e Evidence) about(s Subject, now time.Time, settle time.Duration) Evidence {
	switch {
	case e.Subject == s:
		return e
	case e.Proved && e.UID == s.UID && e.StorageVersion == s.StorageVersion && s.Generation == e.Generation+1:
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
		e.Trimmed = true
		return e
	case e.Trimmed:
		return Begin(e.Subject, Recorded{}, now, settle)
	default:
		return e
	}
}

// Shape is a digest of the schemas and the conversion of a CRD, and when every API server goes by them, by the same assumption as
// WindowEnd. A write through one that lags would drop the fields that an earlier schema does not have, or that no webhook
// converts yet. What Moult has seen in objects does not show that.
type Shape struct {
	Digest string
	Until  time.Time
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
