package preview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
)

// The author of a pull request, who may work in a fork, decides what the head has. So what may silence a finding is read from
// the base: the file of acknowledgements, and files that flags name and the repository keeps. What the head has of them counts with
// --trust-head.

// acknowledgements are those that count, and what to say of the others.
func (p *command) acknowledgements(s *sides, now time.Time) (preview.Acknowledgements, []finding.Finding, error) {
	before, err := s.base.settings()
	if err != nil {
		return nil, nil, fmt.Errorf("--base: %w", err)
	}
	after, err := s.head.settings()
	if err != nil {
		return nil, nil, fmt.Errorf("--head: %w", err)
	}
	if s.head.tree == nil {
		after = before // standard input has no such file
	}
	proposed, err := preview.ReadAcknowledgements(after, now)
	if err != nil {
		return nil, nil, fmt.Errorf("--head: %w", err)
	}
	if bytes.Equal(before, after) {
		return proposed, nil, nil
	}
	if p.trustHead {
		return proposed, []finding.Finding{preview.TrustedHead(preview.AcknowledgementsFile)}, nil
	}
	found := []finding.Finding{preview.TakenFromBase(preview.AcknowledgementsFile)}
	counting, err := preview.ReadAcknowledgements(before, now)
	if err != nil { // the head may be what corrects it
		counting = nil
	}
	return counting, found, nil
}

// settings is the content of the file of acknowledgements; none without a file.
func (s side) settings() ([]byte, error) {
	if s.tree == nil {
		return nil, nil
	}
	content, err := render.ReadRegular(filepath.Join(s.tree.Root, preview.AcknowledgementsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// trusted reads a file that a flag names. If the repository keeps it, and the base is a revision, it is read as the base has it;
// fs.ErrNotExist if only the head has it. What a pipeline has made is in neither.
func (p *command) trusted(ctx context.Context, file string) ([]byte, error) {
	content, err := os.ReadFile(file)
	base, isRevision := repository.RevisionOf(p.base)
	if err != nil || !isRevision || p.trustHead {
		return content, err
	}
	head, isRevision := repository.RevisionOf(p.head)
	if !isRevision {
		head = "HEAD"
	}
	paths := []string{file}
	if resolved, err := filepath.EvalSymlinks(file); err == nil {
		paths = append(paths, resolved)
	}
	for _, revision := range []string{base, head} {
		for _, path := range paths {
			kept, err := repository.Committed(ctx, revision, path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				return nil, err
			case revision == base && bytes.Equal(kept, content):
				return content, nil
			}
			p.noted = append(p.noted, preview.TakenFromBase(filepath.ToSlash(file)))
			if revision != base {
				return nil, fmt.Errorf("%s is not in --base: %w", file, fs.ErrNotExist)
			}
			return kept, nil
		}
	}
	return content, nil
}

// trustedFolder is where a folder that a flag names is read.
func (p *command) trustedFolder(base side, folder string) string {
	if _, isRevision := repository.RevisionOf(p.base); !isRevision || p.trustHead {
		return folder
	}
	inside, is := repository.Inside(folder)
	if !is {
		return folder
	}
	kept := filepath.Join(base.tree.Root, filepath.FromSlash(inside))
	if info, err := os.Stat(kept); err != nil || !info.IsDir() {
		return folder
	}
	return kept
}
