package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/policies/plan"
)

// Update is what Run reports about one CRD whenever it has taken a step.
type Update struct {
	CRD      string
	Reason   string // of the StorageMigrated condition
	Sentence string
	Progress v1alpha1.Progress
	// Looking is that the progress is of the look at all objects before any is rewritten.
	Looking bool
	// Until is when the settle time is over, while it runs.
	Until time.Time
	// Dropped are the fields that objects have lost because they may.
	Dropped []rewrite.FieldLoss
}

// Blocked is the error of a CRD that Run cannot migrate before a person has
// acted. Nothing has been trimmed; what has been rewritten stays so.
type Blocked struct {
	CRD      string
	Reason   string
	Sentence string
	// Failures name the objects that could not be rewritten, each with its
	// reason, at most 20.
	Failures []string
}

func (b *Blocked) Error() string { return fmt.Sprintf("%s: %s: %s", b.CRD, b.Reason, b.Sentence) }

// ErrNotFound: there is no such CRD.
var ErrNotFound = errors.New("no such CustomResourceDefinition")

// pollInterval is how often Run looks at a walk under way.
const pollInterval = 500 * time.Millisecond

// Run migrates one CRD once, without a manager, by the same steps as the
// controller: pass, settle time, proof, trim, condition. It returns when the CRD
// is migrated, a *Blocked when a person is needed, or the context's error.
// Interrupted, it loses nothing: the next Run finds what is already rewritten.
func Run(ctx context.Context, cfg *rest.Config, crd string, opts Options, tell func(Update)) error {
	r, err := standalone(cfg, opts)
	if err != nil {
		return err
	}
	defer r.walks.stopAll()
	answered := time.Time{}
	for {
		seen, d, err := r.step(ctx, crd)
		if err != nil && !retriable(err) && r.opts.Clock.Since(answered) > awayTime {
			return err
		}
		if err == nil {
			answered = r.opts.Clock.Now()
			tell(r.update(crd, d))
			if over, err := r.over(crd, seen, d); over {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.walks.woken:
		case <-r.opts.Clock.After(pollInterval):
		}
	}
}

// retriable errors of the API server pass by themselves.
func retriable(err error) bool {
	for _, is := range []func(error) bool{
		apierrors.IsConflict, apierrors.IsTooManyRequests, apierrors.IsServiceUnavailable,
		apierrors.IsTimeout, apierrors.IsServerTimeout, apierrors.IsInternalError,
	} {
		if is(err) {
			return true
		}
	}
	return false
}

// awayTime is how long an API server that has answered before may not be reached.
const awayTime = time.Minute

// standalone is a reconciler that reads every CRD from the API server.
func standalone(cfg *rest.Config, opts Options) (*Reconciler, error) {
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	scheme, err := setup.Scheme()
	if err != nil {
		return nil, err
	}
	live, err := setup.NewClient(cfg, client.Options{Scheme: scheme, HTTPClient: httpClient})
	if err != nil {
		return nil, err
	}
	return newReconciler(cfg, httpClient, live, live, opts)
}

func (r *Reconciler) update(name string, d plan.Decision) Update {
	u := Update{CRD: name, Reason: d.Reason, Sentence: d.Sentence, Looking: d.Looking, Dropped: r.states.found(name).dropped}
	u.Progress, _ = v1alpha1.ParseProgress(d.Sentence)
	if d.Reason == v1alpha1.ReasonSettling {
		u.Until = d.Until
	}
	return u
}

// over reports whether there is nothing more to do for Run.
func (r *Reconciler) over(name string, crd *apiextensionsv1.CustomResourceDefinition, d plan.Decision) (bool, error) {
	switch d.Step {
	case plan.Forget:
		if crd == nil {
			return true, fmt.Errorf("%s: %w", name, ErrNotFound)
		}
		return true, &Blocked{CRD: name, Reason: string(d.Step), Sentence: "the CRD is being deleted"}
	case plan.Withdraw:
		return true, &Blocked{CRD: name, Reason: "NotOptedIn", Sentence: fmt.Sprintf("the CRD does not carry the label %s: %q; add it to the CRD's manifest in Git", r.opts.LabelKey, v1alpha1.MigrateLabelValue)}
	case plan.Leave:
		return true, &Blocked{CRD: name, Reason: "OutOfScope", Sentence: fmt.Sprintf("the CRD's group is not one of %v", r.opts.Groups)}
	case plan.Hold:
		return true, &Blocked{CRD: name, Reason: d.Reason, Sentence: d.Sentence}
	case plan.Wait:
		return d.Reason != v1alpha1.ReasonSettling, &Blocked{CRD: name, Reason: d.Reason, Sentence: d.Sentence, Failures: textsOf(r.states.found(name).failed)}
	case plan.Rest, plan.Trim:
		return true, nil
	case plan.Follow, plan.Rewrite, plan.Check, plan.Survey:
	}
	return false, nil
}
