package preview

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/appset"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/policies/snapshot"
)

// knownClusters are those that Argo CD knows, nil if no file names them.
func (p *command) knownClusters(ctx context.Context) ([]appset.Cluster, error) {
	if p.secrets == "" {
		return nil, nil
	}
	content, err := p.trusted(ctx, p.secrets)
	if err != nil {
		return nil, fmt.Errorf("--cluster-secrets: %w", err)
	}
	known, err := appset.Clusters(p.secrets, content)
	if err != nil {
		return nil, fmt.Errorf("--cluster-secrets: %w", err)
	}
	return known, nil
}

// source is where something about a cluster comes from: a snapshot's file, a context of the kubeconfig, or a file of
// manifests. The zero value is none.
type source struct {
	flag  string
	entry string // as the user wrote it; empty if there was none
	place string
}

func (s source) isContext() bool { return s.flag == "--context" }

// sourceOf finds the entry point that a flag's value is for.
func (p *command) sourceOf(flag, text string) (s source, entry string, err error) {
	s = source{flag: flag, place: text}
	if named, place, isNamed := strings.Cut(text, "="); isNamed && p.isEntry(named) {
		s.entry, s.place = named, place
	}
	entry, err = p.entryOf(s, text)
	return s, entry, err
}

// sources finds the entry point that each --snapshot and --context is for.
func (p *command) sources() (map[string][]source, error) {
	byEntry, files := map[string][]source{}, map[string]string{}
	add := func(flag string, texts []string) error {
		for _, text := range texts {
			s, entry, err := p.sourceOf(flag, text)
			if err != nil {
				return err
			}
			if other, twice := files[s.place]; twice && !s.isContext() && other != entry {
				return fmt.Errorf("--snapshot %s is given for %s and for %s; one file is of one cluster", s.place, other, entry)
			}
			files[s.place] = entry
			byEntry[entry] = append(byEntry[entry], s)
		}
		return nil
	}
	if err := add("--snapshot", p.snapshots); err != nil {
		return nil, err
	}
	return byEntry, add("--context", p.contexts)
}

// isEntry reports whether a name stands for an entry point: its path, or the last part of that.
func (p *command) isEntry(name string) bool {
	return slices.ContainsFunc(p.entries, isCalled(name))
}

func isCalled(name string) func(string) bool {
	return func(entry string) bool { return path.Clean(entry) == path.Clean(name) || path.Base(entry) == name }
}

func (p *command) entryOf(s source, text string) (string, error) {
	var meant []string
	for _, entry := range p.entries {
		if s.entry != "" && isCalled(s.entry)(entry) {
			meant = append(meant, entry)
		}
	}
	label, place, isLabelled := strings.Cut(text, "=")
	switch {
	case len(p.entries) == 0 && isLabelled && !p.isThere(s):
		return "", fmt.Errorf("%s %s is for the entry point %s, and there is no --entry; name it with --entry, or write %[1]s %[4]s", s.flag, text, label, place)
	case len(p.entries) == 0:
		return "", nil
	case len(meant) == 1:
		return meant[0], nil
	case len(meant) > 1:
		return "", fmt.Errorf("%s %s could be for %s; write the whole path", s.flag, text, strings.Join(meant, " or "))
	case len(p.entries) == 1 && !strings.Contains(text, "="):
		return p.entries[0], nil
	case isLabelled:
		return "", fmt.Errorf("%s %s: there is no entry point %s among %s; correct the name, or add it with --entry", s.flag, text, label, strings.Join(p.entries, ", "))
	}
	return "", fmt.Errorf("%s %s does not say which entry point it is for; write it like %s=%s", s.flag, text, path.Base(p.entries[0]), s.place)
}

// isThere reports whether a text with an equals sign in it is the name of a file or of a context.
func (p *command) isThere(s source) bool {
	if s.isContext() {
		return slices.Contains(p.Contexts(), s.place)
	}
	_, err := os.Stat(s.place)
	return err == nil
}

// read reads what is known about a cluster, and says where from.
func (p *command) read(ctx context.Context, s source) (known *snapshot.Snapshot, from string, err error) {
	switch {
	case s.place == "":
		return nil, "", nil
	case s.isContext():
		known, err = p.ask(ctx, s.place)
		if err != nil {
			return nil, "", fmt.Errorf("--context %s: %w", s.place, err)
		}
		return known, "context " + s.place, nil
	}
	if _, err := os.Stat(s.place); err != nil {
		return nil, "", fmt.Errorf("--snapshot: %w; `moult snapshot --context CONTEXT -f %s` writes one", err, s.place)
	}
	content, err := p.trusted(ctx, s.place)
	switch {
	case errors.Is(err, fs.ErrNotExist): // only the pull request has it
		return nil, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("--snapshot %s: %w", s.place, err)
	}
	if known, err = snapshot.Read(content); err != nil {
		return nil, "", fmt.Errorf("--snapshot %s: %w", s.place, err)
	}
	return known, "snapshot " + path.Base(s.place), nil
}

// ask takes a snapshot of the cluster of a context.
func (p *command) ask(ctx context.Context, contextName string) (*snapshot.Snapshot, error) {
	f := *p.Factory
	f.ContextName = contextName
	cfg, err := f.Config()
	if err != nil {
		return nil, err
	}
	taken, err := inspect.Take(ctx, cfg, inspect.Options{
		Cluster: contextName, LabelKey: p.LabelKey, MoultVersion: start.Version(), Fields: p.fields, Tell: progress.NewObjects(p.ErrOut).Tell,
	})
	if err != nil {
		return nil, cli.ReadError(err)
	}
	return taken, nil
}

// checkCluster refuses a snapshot that says itself that it is of another entry point's cluster.
func (p *command) checkCluster(entry string, from source, s *snapshot.Snapshot) error {
	if s == nil || entry == "" || from.isContext() {
		return nil
	}
	for _, other := range p.entries {
		if other != entry && isCalled(s.Cluster)(other) && !isCalled(s.Cluster)(entry) {
			return fmt.Errorf("--snapshot %s is of the cluster %s, and was given for %s; look at which file is for which entry point", from.place, s.Cluster, entry)
		}
	}
	return nil
}
