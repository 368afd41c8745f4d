package conversion

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/policies/unpacking"
)

// Converter converts objects as the API server does. It changes none of them, and answers as many as it is given, in the same
// order. The answers share nothing with them. Its error is a Failure, or counts as one with FaultAnswer.
type Converter interface {
	Convert(ctx context.Context, objects []map[string]any, apiVersion string) ([]map[string]any, error)
}

// Fault is what is wrong with a conversion. The set is closed.
type Fault string

const (
	// FaultFailed: the webhook says that it cannot convert the object, or a version cannot be read as another.
	FaultFailed Fault = "failed"
	// FaultMetadata: the webhook changes the name, namespace, UID or kind, or answers labels or annotations that are none.
	FaultMetadata Fault = "metadata"
	// FaultCount: the webhook answers more or fewer objects than it is asked for.
	FaultCount Fault = "count"
	// FaultOrder: the webhook answers the objects in another order.
	FaultOrder Fault = "order"
	// FaultUID: the webhook answers another request.
	FaultUID Fault = "uid"
	// FaultLate: the webhook does not answer for as long as the API server waits.
	FaultLate Fault = "late"
	// FaultAnswer: what the webhook answers is no ConversionReview, or an object of it is none of the version that was asked for.
	FaultAnswer Fault = "answer"
	// FaultTooLarge: the webhook, or the defaults of a version, would make the object larger than there is memory for.
	FaultTooLarge Fault = "tooLarge"
	// FaultUnreachable: the webhook cannot be reached from here. That says nothing about the API server.
	FaultUnreachable Fault = "unreachable"
)

// faults says what each means, in words.
var faults = map[Fault]string{
	FaultFailed:      "cannot be converted",
	FaultMetadata:    "the webhook changes metadata that has to stay",
	FaultCount:       "the webhook does not answer as many objects as it is asked for",
	FaultOrder:       "the webhook answers the objects in another order",
	FaultUID:         "the webhook answers another request",
	FaultLate:        "the webhook does not answer in time",
	FaultAnswer:      "the webhook answers something else",
	FaultTooLarge:    "the object would be too large",
	FaultUnreachable: "the webhook cannot be reached",
}

// String is what it means.
func (f Fault) String() string { return faults[f] }

// Failure is a conversion that the API server does not take.
type Failure struct {
	Fault Fault `json:"fault"`
	// To is the version that was asked for, and Says the reason in the API server's or the webhook's words.
	To   string `json:"to"`
	Says string `json:"says"`
}

func (f Failure) Error() string { return fmt.Sprintf("%s: %s", f.Fault, f.Says) }

// none is the conversion None: nothing but the apiVersion differs.
type none struct{}

func (none) Convert(_ context.Context, objects []map[string]any, apiVersion string) ([]map[string]any, error) {
	all := make([]map[string]any, len(objects))
	for i := range objects {
		all[i] = runtime.DeepCopyJSON(objects[i])
		all[i]["apiVersion"] = apiVersion
	}
	return all, nil
}

// convert takes journeys on to a version, all in one request. If that fails, each gets a request of its own, as the API server
// makes them when it reads objects: then it is known which ones fail. A fault that shows only with several objects is one of all of
// them. Time is not, which the API server gives to each, and a webhook that has ended is there again.
func (e *Engine) convert(ctx context.Context, all []*journey, version string, done func(*journey, map[string]any)) {
	if len(all) == 0 {
		return
	}
	err := e.request(ctx, all, version, done)
	if err == nil {
		return
	}
	failure := failureOf(err, version)
	if len(all) == 1 || failure.Fault == FaultTooLarge { // of several, together
		for _, j := range all {
			j.fail(failure)
		}
		return
	}
	failed := false
	for _, j := range all {
		if err := e.request(ctx, []*journey{j}, version, done); err != nil {
			j.fail(failureOf(err, version))
			failed = true
		}
	}
	if failed || failure.Fault == FaultLate || failure.Fault == FaultUnreachable {
		return
	}
	if failure.Fault == FaultMetadata {
		failure.Fault = FaultOrder // one at a time, all keep it
	}
	failure.Says = "asked for several at once: " + failure.Says
	for _, j := range all {
		j.outcome.Failed = append(j.outcome.Failed, failure)
	}
}

// request is one; done gets each object of the answer as the API server has it then.
func (e *Engine) request(ctx context.Context, all []*journey, version string, done func(*journey, map[string]any)) error {
	objects := make([]map[string]any, len(all))
	for i, j := range all {
		objects[i] = j.at
	}
	converted, err := e.converter.Convert(ctx, objects, e.group+"/"+version)
	if err != nil {
		return err
	}
	if len(converted) != len(all) {
		return Failure{Fault: FaultCount, Says: fmt.Sprintf("returned %d objects, expected %d", len(converted), len(all))}
	}
	left := left(ctx)
	for i, j := range all {
		*left -= unpacking.SizeOf(converted[i])
		if err := e.versions[version].Coerce(converted[i], false); err != nil {
			j.fail(Failure{Fault: FaultFailed, To: version, Says: err.Error()})
			continue
		}
		done(j, converted[i])
	}
	return nil
}

func failureOf(err error, version string) Failure {
	failure := Failure{}
	if !errors.As(err, &failure) {
		failure = Failure{Fault: FaultAnswer, Says: err.Error()}
	}
	failure.To = version
	return failure
}
