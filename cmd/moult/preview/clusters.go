package preview

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/policies/manifests"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/snapshot"
)

// knowledge is where something is known about a cluster: a snapshot's file, or a context of the kubeconfig.
type knowledge struct {
	entry     string // as the user wrote it; empty if there was none
	place     string
	isContext bool
}

func (k knowledge) flag() string {
	if k.isContext {
		return "--context"
	}
	return "--snapshot"
}

// input gathers everything the report is made of.
func (p *command) input(ctx context.Context, s *sides) (preview.Input, error) {
	in := preview.Input{Base: p.base, Head: p.head, LabelKey: p.LabelKey, Now: time.Now(), MaxAge: p.maxAge}
	known, err := p.assign()
	if err != nil {
		return in, err
	}
	entries := p.entries
	if len(entries) == 0 {
		if err := p.askForEntries(s); err != nil {
			return in, err
		}
		entries = []string{""}
	}
	for _, entry := range entries {
		sources := known[entry]
		if len(sources) == 0 {
			sources = []knowledge{{}}
		}
		for _, source := range sources {
			d, err := s.delivered(ctx, entry, nameOf(entry, source, len(sources)))
			if err != nil {
				return in, err
			}
			if d.Snapshot, d.Source, err = p.look(ctx, source); err != nil {
				return in, err
			}
			if err := p.checkCluster(entry, source, d.Snapshot); err != nil {
				return in, err
			}
			in.Clusters = append(in.Clusters, d)
		}
	}
	in.Manifests, err = s.head.leftBehind(in.Clusters, len(p.entries) > 0)
	return in, err
}

// nameOf is what the report calls a cluster: its entry point, and where several clusters share one, what is known of each.
func nameOf(entry string, source knowledge, several int) string {
	switch {
	case several > 1 && entry != "":
		return fmt.Sprintf("%s (%s)", entry, source.place)
	case entry == "":
		return source.place
	}
	return entry
}

// assign finds the entry point that each --snapshot and --context is for.
func (p *command) assign() (map[string][]knowledge, error) {
	known, files := map[string][]knowledge{}, map[string]string{}
	add := func(texts []string, isContext bool) error {
		for _, text := range texts {
			k := knowledge{place: text, isContext: isContext}
			if entry, place, named := strings.Cut(text, "="); named && p.isEntry(entry) {
				k.entry, k.place = entry, place
			}
			entry, err := p.entryOf(k, text)
			if err != nil {
				return err
			}
			if other, twice := files[k.place]; twice && !isContext && other != entry {
				return fmt.Errorf("--snapshot %s is given for %s and for %s; one file is of one cluster", k.place, other, entry)
			}
			files[k.place] = entry
			known[entry] = append(known[entry], k)
		}
		return nil
	}
	if err := add(p.snapshots, false); err != nil {
		return nil, err
	}
	return known, add(p.contexts, true)
}

// isEntry tells whether a name stands for an entry point: its path, or the last part of that.
func (p *command) isEntry(name string) bool {
	return slices.ContainsFunc(p.entries, stands(name))
}

func stands(name string) func(string) bool {
	return func(entry string) bool { return path.Clean(entry) == path.Clean(name) || path.Base(entry) == name }
}

func (p *command) entryOf(k knowledge, text string) (string, error) {
	var meant []string
	for _, entry := range p.entries {
		if k.entry != "" && stands(k.entry)(entry) {
			meant = append(meant, entry)
		}
	}
	label, place, isLabelled := strings.Cut(text, "=")
	switch {
	case len(p.entries) == 0 && isLabelled && !p.isThere(k):
		return "", fmt.Errorf("%s %s is for the entry point %s, and there is no --entry; name it with --entry, or write %[1]s %[4]s", k.flag(), text, label, place)
	case len(p.entries) == 0:
		return "", nil
	case len(meant) == 1:
		return meant[0], nil
	case len(meant) > 1:
		return "", fmt.Errorf("%s %s could be for %s; write the whole path", k.flag(), text, strings.Join(meant, " or "))
	case len(p.entries) == 1 && !strings.Contains(text, "="):
		return p.entries[0], nil
	case isLabelled:
		return "", fmt.Errorf("%s %s: there is no entry point %s among %s; correct the name, or add it with --entry", k.flag(), text, label, strings.Join(p.entries, ", "))
	}
	return "", fmt.Errorf("%s %s does not say which entry point it is for; write it like %s=%s", k.flag(), text, path.Base(p.entries[0]), k.place)
}

// isThere tells whether a text with an equals sign in it is the name of a file or of a context.
func (p *command) isThere(k knowledge) bool {
	if k.isContext {
		return slices.Contains(p.Contexts(), k.place)
	}
	_, err := os.Stat(k.place)
	return err == nil
}

// look reads what is known about a cluster.
func (p *command) look(ctx context.Context, k knowledge) (*snapshot.Snapshot, string, error) {
	switch {
	case k.place == "":
		return nil, "", nil
	case k.isContext:
		f := *p.Factory
		f.ContextName = k.place
		cfg, err := f.Config()
		if err != nil {
			return nil, "", fmt.Errorf("--context %s: %w", k.place, err)
		}
		taken, err := inspect.Take(ctx, cfg, inspect.Options{
			Cluster: k.place, LabelKey: p.LabelKey, FieldManager: v1alpha1.FieldManagerOf(v1alpha1.FieldManager, p.LabelKey),
			MoultVersion: start.Version(), Tell: progress.NewObjects(p.ErrOut).Tell,
		})
		if err != nil {
			return nil, "", fmt.Errorf("--context %s: %w", k.place, cli.ReadError(err))
		}
		return taken, "context " + k.place, nil
	}
	content, err := os.ReadFile(k.place)
	if err != nil {
		return nil, "", fmt.Errorf("--snapshot: %w; `moult snapshot --context CONTEXT -f %s` writes one", err, k.place)
	}
	read, err := snapshot.Read(content)
	if err != nil {
		return nil, "", fmt.Errorf("--snapshot %s: %w", k.place, err)
	}
	return read, "snapshot " + path.Base(k.place), nil
}

// checkCluster refuses a snapshot that says itself that it is of another entry point's cluster.
func (p *command) checkCluster(entry string, source knowledge, s *snapshot.Snapshot) error {
	if s == nil || entry == "" || source.isContext {
		return nil
	}
	for _, other := range p.entries {
		if other != entry && stands(s.Cluster)(other) && !stands(s.Cluster)(entry) {
			return fmt.Errorf("--snapshot %s is of the cluster %s, and was given for %s; look at which file is for which entry point", source.place, s.Cluster, entry)
		}
	}
	return nil
}

// leftBehind are the places in the files that name a version that leaves: of the whole repository, if it is the
// repository that is looked at, and else of what was named.
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
	var hits []manifests.Reference
	for _, result := range manifests.Rewrite(files, plan) {
		for _, hit := range result.References {
			if slices.Contains(leaving[hit.GroupKind], hit.Version) {
				hits = append(hits, hit)
			}
		}
	}
	return hits, nil
}
