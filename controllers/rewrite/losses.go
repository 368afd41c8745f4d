package rewrite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Losses reports what objects would lose if Moult wrote them. Every write stores an object at the storage version of its CRD, whatever
// it is for, and admission is called for it. So what writes objects of other CRDs than the one that is migrated asks first.
type Losses interface {
	// Of is about the objects of a resource, as its CRD is now. ask is nil if none would lose anything. Until done is called it takes up
	// room for schemas, so a caller that has one asks for no other. The error is a *Settling if none may be written yet.
	Of(ctx context.Context, at schema.GroupVersionResource) (ask AskLoss, done func(), err error)
}

// AskLoss says what an object would lose by a write, and what to do; empty if it would lose nothing. If it is to be updated, admission is
// asked, too. The error is a *DryRunError if the update would be refused.
type AskLoss func(ctx context.Context, key types.NamespacedName, updates bool) (why string, err error)

// Settling is the error about a CRD that was another one a moment ago: an API server that lags would drop what its schemas lacked then.
type Settling struct {
	CRD string
	// For is how long the CRD has to stay as it is.
	For time.Duration
}

func (e *Settling) Error() string {
	return fmt.Sprintf("waiting until every API server goes by the schemas and the conversion that %s has now", e.CRD)
}

// DryRunError is the API server's about a write that was asked about as a dry run.
type DryRunError struct{ error }

func (e *DryRunError) Unwrap() error { return e.error }

// VerbOf is what the error of an AskLoss is about.
func VerbOf(err error) string {
	if errors.As(err, new(*DryRunError)) {
		return "patch"
	}
	return "get"
}

// LossOf is about one object. Without Losses, nothing is asked.
func LossOf(ctx context.Context, all Losses, at schema.GroupVersionResource, key types.NamespacedName, updates bool) (why string, err error) {
	if all == nil {
		return "", nil
	}
	ask, done, err := all.Of(ctx, at)
	if err != nil {
		return "", err
	}
	defer done()
	if ask == nil {
		return "", nil
	}
	return ask(ctx, key, updates)
}
