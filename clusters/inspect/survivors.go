package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/survivors"
)

// LeavingVersions reports which versions of the named CRDs, or without names of those that a label selector selects,
// are to leave: those that are asked for, else what survivors.TargetOf says. The note is about VersionRemovals that
// could not be read.
func (c *Cluster) LeavingVersions(ctx context.Context, names []string, selector string, asked []string) (targets []survivors.Target, note string, err error) {
	removals, note := c.leaving(ctx, names, asked)
	for crd, err := range c.ReadCRDs(ctx, names, selector) {
		if err != nil {
			return nil, "", err
		}
		targets = append(targets, survivors.TargetOf(crd, asked, removals))
	}
	return targets, note, ctx.Err()
}

// leaving are the VersionRemovals that say which versions leave, unless a person has said it. The note is as in LeavingVersions.
func (c *Cluster) leaving(ctx context.Context, names, asked []string) (removals []v1alpha1.VersionRemoval, note string) {
	if len(asked) > 0 {
		return nil, ""
	}
	known := c.gates(ctx, names)
	if known.Not != "" {
		note = known.Not + "; so all versions but the storage version are looked for"
	}
	return known.Value, note
}

// SurvivorSearch says what to look for, and how far.
type SurvivorSearch struct {
	Targets []survivors.Target
	Places  []survivors.Place
	// LeaveOut are resources, as in deployments.apps, that are not read, and why.
	LeaveOut map[string]string
	// Everything reads all objects whole, for what lies at no known place.
	Everything bool
	// Most is how many findings are kept of each place, CRD and version. 0: all.
	Most int
	// PageSize is how many objects are listed at a time where their metadata are enough. Default: 500.
	PageSize int64
	// Tell is called after each page of objects, with the resource for the CRD. Default: it is not called.
	Tell func(Progress)
}

func (s SurvivorSearch) withDefaults() SurvivorSearch {
	if s.PageSize == 0 {
		s.PageSize = defaultPageSize
	}
	if s.Tell == nil {
		s.Tell = func(Progress) {}
	}
	return s
}

const (
	// wholePerPage and wholePageBytes bound memory where objects are read whole: each may be more than 1 MiB, and takes
	// several times as much when it is decoded.
	wholePerPage   = 20
	wholePageBytes = 2 << 20
)

// Survivors looks through all objects of the cluster for versions that are to be removed. There is one list for each
// resource, read a page at a time, and of most resources only the metadata. What may not be read, or cannot be, is
// reported in the report; it is an error only if the API server does not report which resources there are.
func (c *Cluster) Survivors(ctx context.Context, search SurvivorSearch) (survivors.Report, error) {
	walker := survivors.NewWalker(search.Places, search.Targets)
	s := &scan{Cluster: c, SurvivorSearch: search.withDefaults(), walker: walker, survey: survivors.NewSurvey(walker, search.Most), hiding: newHiding()}
	if len(walker.Places()) == 0 {
		return s.survey.Report(), nil
	}
	resources, unseen, err := c.resources()
	if err != nil {
		return survivors.Report{}, err
	}
	for group, why := range unseen {
		s.survey.Unseen(group, why)
	}
	resources = slices.DeleteFunc(resources, isComputed)
	if err := s.lookAt(ctx, resources); err != nil {
		return survivors.Report{}, err
	}
	if missing := s.missing(resources); len(missing) > 0 { // they may be new, or have the name of what is computed
		again, _, err := c.resources()
		if err != nil {
			return survivors.Report{}, err
		}
		again = slices.DeleteFunc(again, func(r listed) bool { return !missing[r.GroupResource] })
		if err := s.lookAt(ctx, again); err != nil {
			return survivors.Report{}, err
		}
		resources = slices.Concat(resources, again)
	}
	s.tellHidden(resources)
	return s.survey.Report(), nil
}

// scan is one look through the cluster.
type scan struct {
	*Cluster
	SurvivorSearch

	walker *survivors.Walker
	survey *survivors.Survey
	hiding
}

// lookAt reads all objects of resources, but for those that are left out.
func (s *scan) lookAt(ctx context.Context, resources []listed) error {
	for _, r := range resources {
		if why, leftOut := s.LeaveOut[r.String()]; leftOut {
			s.survey.LeftOut(r.Resource, why)
			continue
		}
		s.look(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// tellHidden reports objects that no list has shown, though each has ended well.
func (s *scan) tellHidden(resources []listed) {
	hidden := s.hidden(resources)
	for _, of := range slices.SortedFunc(maps.Keys(hidden), func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) }) {
		if _, leftOut := s.LeaveOut[of.String()]; !leftOut {
			s.survey.NotLooked(survivors.Resource{GroupResource: of, Categories: []string{survivors.AnyCategory}}, hidden[of], s.survey.NewBatch())
		}
	}
}

// refinds is how often discovery is asked where a list is not there: for four seconds, in which it forgets what has gone.
const refinds = 4

// look reads all objects of a resource. A list that is not there shows no more than that this version of it is not:
// discovery shows whether there is another.
func (s *scan) look(ctx context.Context, r listed) {
	for try := 0; ; try++ {
		o := &objectScan{scan: s, listed: r}
		o.restart()
		read := o.readMetadata
		if s.Everything || s.walker.NeedOfAll(r.Resource) == survivors.Whole {
			read = o.readWhole
		}
		err := read(ctx)
		if gone(err) && try < refinds {
			now, there, failure := s.find(r.GroupResource)
			if failure == nil && !there {
				s.survey.Covered(r.Resource, o.n, o.batch)
				return
			}
			if failure == nil && s.pause(ctx, try) {
				r = now // which discovery may not have forgotten yet
				continue
			}
		}
		switch {
		case err != nil:
			s.survey.NotLooked(r.Resource, unread(err, r.String(), r.permission("list")), o.batch)
		case o.failure != nil:
			s.survey.NotLooked(r.Resource, unread(o.failure, fmt.Sprintf("%d of the objects of %s", o.failures, r), r.permission("get")), o.batch)
		default:
			s.survey.Covered(r.Resource, o.n, o.batch)
		}
		return
	}
}

// pause waits before the next try, and reports whether there is time for one.
func (s *scan) pause(ctx context.Context, try int) bool {
	select {
	case <-s.clock.After(firstPause << try):
		return true
	case <-ctx.Done():
		return false
	}
}
