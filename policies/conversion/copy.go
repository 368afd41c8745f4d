package conversion

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Copy converts an object to a version as the API server does, and stores nothing. It is an error if a client of the object's own
// version would then miss something, or read something else. It does not change the object.
func (e *Engine) Copy(ctx context.Context, object map[string]any, version string) (converted map[string]any, err error) {
	if e.versions[version] == nil {
		return nil, fmt.Errorf("%s has no version %s", e.CRD, version)
	}
	j := e.start(object)
	e.convert(ctx, pick([]*journey{j}, func(*journey) bool { return true }), version, func(_ *journey, there map[string]any) { converted = there })
	if j.at = converted; converted != nil && !j.ended {
		e.convert(ctx, []*journey{j}, j.outcome.From, e.compare)
	}
	return converted, j.outcome.err(version)
}

// err is what keeps an object from being the same at another version.
func (o *Outcome) err(version string) error {
	switch {
	case o.Unknown != "":
		return errors.New(o.Unknown)
	case len(o.Failed) > 0:
		return fmt.Errorf("it cannot be converted to %s: %w", o.Failed[0].To, o.Failed[0])
	case len(o.Lost) > 0:
		return fmt.Errorf("at %s it would lose %s", version, strings.Join(o.Lost, ", "))
	case len(o.Changed) > 0:
		return fmt.Errorf("by way of %s it would come back with another value at %s", version, strings.Join(o.Changed, ", "))
	}
	return nil
}
