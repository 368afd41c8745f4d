package inspect

import (
	"context"
	"slices"

	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/policies/survivors"
)

// takeReferences looks for what else names a version of the CRDs that could be removed, once for all of them.
func (t *taker) takeReferences(ctx context.Context) {
	if !t.opts.References || ctx.Err() != nil {
		return
	}
	search := SurvivorSearch{Targets: t.targets, Places: t.opts.Places, Most: maxExamples, PageSize: t.opts.PageSize, Tell: t.opts.Tell, LeaveOut: map[string]string{}}
	if !t.opts.Secrets {
		search.LeaveOut[string(survivors.Secrets)] = "Secrets are read only with --secrets"
	}
	report, err := t.Survivors(ctx, search)
	if err != nil {
		t.leaveOut(snapshot.References, "", unread(err, "which resources there are", "the discovery of the API"))
		return
	}
	for _, target := range t.targets {
		if len(target.Leaving) == 0 {
			continue
		}
		of := report.Of(target.CRD, target.Group, target.Leaving)
		of.Targets, of.Possible = []survivors.Target{}, []survivors.Group{}
		of.Places = slices.DeleteFunc(of.Places, func(l survivors.Coverage) bool { return len(l.Not) == 0 })
		if t.opts.NoNames {
			of.Found, of.Unknown = nameless(of.Found), nameless(of.Unknown)
		}
		for i := range t.CRDs {
			if t.CRDs[i].Name == target.CRD {
				t.CRDs[i].References = &of
			}
		}
	}
}

// nameless are the same counts without a name of an object.
func nameless(groups []survivors.Group) []survivors.Group {
	groups = slices.Clone(groups)
	for i := range groups {
		groups[i].References = []survivors.Reference{}
	}
	return groups
}
