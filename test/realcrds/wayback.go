package main

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/policies/deprecation"
)

// trip is what the API server says of one CRD on the way from a release to the next and back, without any object of it. An
// error is its refusal.
type trip struct {
	name string
	// before is about the CRD of the earlier release; if it is refused, there is no more to ask, nor is there after a refusal of there.
	before, there, back error
}

// travel applies the CRDs of the earlier release, those of the later one, and those of the earlier one again. Versions that
// neither of them stores are in no storedVersions: the clusters begin at the earlier release.
func (j judge) travel(ctx context.Context, base, head []*apiextensionsv1.CustomResourceDefinition) (trips []trip, err error) {
	if err := j.clear(ctx); err != nil {
		return nil, err
	}
	for _, was := range base {
		i := slices.IndexFunc(head, func(is *apiextensionsv1.CustomResourceDefinition) bool { return is.Name == was.Name })
		if i < 0 {
			continue // it is gone: nothing is applied
		}
		t := trip{name: was.Name}
		if t.before, err = j.install(ctx, was); err == nil && t.before == nil {
			t.there, err = j.install(ctx, head[i])
		}
		if err == nil && t.before == nil && t.there == nil {
			t.back, err = j.apply(ctx, was, metav1.PatchOptions{})
		}
		if err != nil {
			return nil, err
		}
		trips = append(trips, t)
	}
	return trips, nil
}

// install applies a CRD and waits until it is served, if it is not refused.
func (j judge) install(ctx context.Context, of *apiextensionsv1.CustomResourceDefinition) (refused, failed error) {
	refused, failed = j.apply(ctx, of, metav1.PatchOptions{})
	if refused == nil && failed == nil {
		failed = j.established(ctx, of.Name)
	}
	return refused, failed
}

// refusingUpgrade are the rules that say that the API server refuses the CRD wherever the release before was installed.
var refusingUpgrade = []string{deprecation.UpgradeRefused, deprecation.FlippedAndRemoved}

// misled are where the findings of a step and the API server do not say the same.
func misled(findings []deprecation.Violation, trips []trip) (wrong []error) {
	told := func(name string, rules ...string) bool {
		return slices.ContainsFunc(findings, func(f deprecation.Violation) bool { return f.CRD == name && slices.Contains(rules, f.Rule) })
	}
	for _, t := range trips {
		if t.before != nil {
			wrong = append(wrong, fmt.Errorf("%s of the earlier release is refused by itself: %w", t.name, t.before))
			continue
		}
		switch said := told(t.name, refusingUpgrade...); {
		case said && t.there == nil:
			wrong = append(wrong, fmt.Errorf("%s: the upgrade is said to be refused, and the API server accepts it", t.name))
		case !said && t.there != nil:
			wrong = append(wrong, fmt.Errorf("%s: nobody says that the upgrade is refused: %w", t.name, t.there))
		}
		if t.there != nil {
			continue // nobody gets there, so nobody comes back
		}
		switch said := told(t.name, deprecation.NoWayBack); {
		case said && t.back == nil:
			wrong = append(wrong, fmt.Errorf("%s: there is said to be no way back, and the API server accepts it", t.name))
		case !said && t.back != nil:
			wrong = append(wrong, fmt.Errorf("%s: nobody says that there is no way back: %w", t.name, t.back))
		}
	}
	return wrong
}
