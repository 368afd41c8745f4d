package preview

import (
	"context"
	"fmt"
	"slices"
	"time"

	names "github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/scan"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/manifests"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/policies/words"
)

// input gathers everything the report is made of.
func (p *command) input(ctx context.Context, s *sides) (preview.Input, error) {
	in := preview.Input{Base: p.base, Head: p.head, LabelKey: p.LabelKey, Now: time.Now(), MaxAge: p.maxAge, Changed: s.following.Changed}
	var err error
	if in.Acknowledgements, in.Findings, err = p.acknowledgements(s, in.Now); err != nil {
		return in, err
	}
	if in.Clusters, err = p.allClusters(ctx, s); err != nil {
		return in, err
	}
	if in.Unread, err = p.irrelevant(s); err != nil {
		return in, err
	}
	if len(p.entries) == 0 && s.head.isFolder() {
		in.MayBeApplied = s.head.mayBeApplied
	}
	in.Findings = append(in.Findings, p.noted...)
	in.Manifests, err = s.head.leftBehind(in.Clusters, len(p.entries) > 0)
	return in, err
}

// allClusters are those of all entry points, named or found.
func (p *command) allClusters(ctx context.Context, s *sides) (all []preview.Delivered, err error) {
	if err := p.findEntries(s); err != nil {
		return nil, err
	}
	byEntry, err := p.sources()
	if err != nil {
		return nil, err
	}
	entries := p.entries
	if len(entries) == 0 {
		more, err := s.wiring(nil, scan.Wiring)
		if err != nil {
			return nil, err
		}
		entries = append([]string{""}, more...)
	}
	for _, entry := range entries {
		sources := byEntry[entry]
		if len(sources) == 0 {
			sources = []source{{}}
		}
		first := len(all)
		for _, from := range sources {
			clusters, err := p.clusters(ctx, s, entry, from, nameOf(entry, from, len(sources)))
			if err != nil {
				return nil, err
			}
			all = append(all, clusters...)
		}
		countSnapshots(all[first:])
	}
	return p.unfollowed(ctx, s, all)
}

// countSnapshots notes of how many clusters of an entry point something is known.
func countSnapshots(all []preview.Delivered) {
	known := map[*snapshot.Snapshot]bool{}
	for _, d := range all {
		if d.Snapshot != nil {
			known[d.Snapshot] = true
		}
	}
	for i := range all {
		all[i].Snapshots = len(known)
	}
}

// irrelevant are the changed files that nothing which may be applied is made of. Where entry points are named, many are.
func (p *command) irrelevant(s *sides) ([]string, error) {
	if !s.base.isFolder() || !s.head.isFolder() {
		return nil, nil
	}
	names, err := s.without((*repository.Reads).IsCompared)
	if len(names) > 0 && (p.found || len(p.entries) == 0) {
		fmt.Fprintf(p.ErrOut, "irrelevant: %s of %d, which nothing that is applied is made of: %s\n", words.Count(len(names), "changed file"), len(s.changes), words.Few(names, maxFolders))
	}
	return names, err
}

// unfollowed adds what the entry points that were found by themselves do not lead to. That is kustomizations and charts that make
// something which is installed, and the files of tools that are not followed.
func (p *command) unfollowed(ctx context.Context, s *sides, all []preview.Delivered) ([]preview.Delivered, error) {
	if !p.found {
		return all, nil
	}
	unread, err := s.unread()
	if err != nil {
		return all, err
	}
	if s.base.isFolder() && s.head.isFolder() {
		declared, err := s.declared(all)
		if err != nil {
			return nil, err
		}
		all = append(all, s.held(declared...)...)
	}
	if len(unread) == 0 {
		return all, nil
	}
	entries, err := s.wiring(unread, scan.Unfollowed)
	if err != nil {
		return nil, err
	}
	for _, entry := range slices.DeleteFunc(entries, s.leftOut(all)) {
		more, err := p.clusters(ctx, s, entry, source{}, entry)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	others, err := s.both(func(from side) (delivery.Cluster, error) {
		found, err := scan.OtherTools(ctx, from.tree, unread, s.building)
		found.Unseen = append(found.Unseen, scan.MayBeApplied(from.tree, s.on(from, unread), notBuilt(all))...)
		return *found, err
	})
	if err != nil || len(others.Base.Unseen)+len(others.Head.Unseen)+len(others.Base.Units)+len(others.Head.Units) == 0 {
		return all, err
	}
	return append(all, s.held(others)...), nil
}

// leftOut reports whether an entry point is a folder of loose manifests in one that is built: it leaves them out then.
func (s *sides) leftOut(all []preview.Delivered) func(string) bool {
	return func(entry string) bool {
		folder, loose := names.IsLoose(entry)
		return loose && slices.ContainsFunc(all, func(d preview.Delivered) bool {
			return s.base.isBuilt(d.Base.Cluster, folder+"/") || s.head.isBuilt(d.Head.Cluster, folder+"/")
		})
	}
}

// notBuilt are the entry points that cannot be built, before or after.
func notBuilt(all []preview.Delivered) (entries []string) {
	for _, d := range all {
		for _, c := range []delivery.Cluster{d.Base.Cluster, d.Head.Cluster} {
			if len(c.Units) > 0 && c.Units[0].By == nil && c.Units[0].Err != nil && !slices.Contains(entries, d.Name) {
				entries = append(entries, d.Name)
			}
		}
	}
	return entries
}

// clusters are what an entry point amounts to before and after, and what is known about the cluster; one, if it is named.
func (p *command) clusters(ctx context.Context, s *sides, entry string, from source, name string) ([]preview.Delivered, error) {
	more, err := p.rendered(ctx, entry)
	if err != nil {
		return nil, err
	}
	all, err := s.delivered(ctx, entry, name, more)
	if err != nil {
		return nil, err
	}
	known, place, err := p.read(ctx, from)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if !all[i].Held {
			all[i].Snapshot, all[i].Source = known, place
		}
	}
	return all, p.checkCluster(entry, from, known)
}

// nameOf is what the report calls a cluster: its entry point, and where several clusters share one, what is known of each.
func nameOf(entry string, from source, several int) string {
	switch {
	case several > 1 && entry != "":
		return fmt.Sprintf("%s (%s)", entry, from.place)
	case entry == "":
		return from.place
	}
	return entry
}

// leftBehind looks for versions that leave in the whole repository, if it is the repository that is looked at, and else in
// what was named.
func (s side) leftBehind(clusters []preview.Delivered, whole bool) ([]manifests.Reference, error) {
	if s.tree == nil {
		return nil, nil
	}
	plan, leaving := preview.Leaving(clusters)
	if len(plan) == 0 {
		return nil, nil
	}
	around := s.tree.Dir
	if whole {
		around = s.tree.Root
	}
	read, err := input.Files([]string{around})
	if err != nil {
		return nil, fmt.Errorf("--head: %w", err)
	}
	files := read.Files
	for i := range files {
		files[i].Name = s.tree.Relative(files[i].Name)
	}
	return preview.LeftBehind(files, plan, leaving), nil
}
