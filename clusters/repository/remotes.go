package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/moult-dev/moult/clusters/network"
)

// Remotes are other repositories, of which manifests are taken at a tag or a commit. Each is fetched once. Git fetches, with
// the credentials that it has. Remotes may be used by several goroutines.
type Remotes struct {
	policy *network.Policy

	known  network.Once[revision, *Tree]
	silent network.Silent
}

// revision is one of a repository.
type revision struct{ address, name string }

// NewRemotes asks those hosts that may be asked.
func NewRemotes(policy *network.Policy) *Remotes {
	return &Remotes{policy: policy}
}

// longestFetch is how long a repository may take to arrive.
const longestFetch = time.Minute

// commitHash is a whole one; Git serves no other.
var commitHash = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// Fetch finds a revision of a repository: a commit by its whole hash, or a tag. The error says why it cannot be had.
func (r *Remotes) Fetch(ctx context.Context, address, name string) (*Tree, error) {
	return r.known.Get(revision{address, name}, func() (*Tree, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, longestFetch, fmt.Errorf("it takes longer than %s to arrive", longestFetch))
		defer cancel()
		tree, err := r.fetch(ctx, address, name)
		if err != nil {
			err = fmt.Errorf("%s of %s cannot be had: %w", name, network.WithoutUser(address), err)
		}
		return tree, err
	})
}

func (r *Remotes) fetch(ctx context.Context, address, name string) (tree *Tree, err error) {
	host, _ := network.Remote(address)
	if host == "" || strings.HasPrefix(address, "-") {
		return nil, errors.New("it has no address that can be asked")
	}
	if err := errors.Join(r.policy.AllowGit(address), r.silent.Why(host)); err != nil {
		return nil, err
	}
	defer func() {
		if ctx.Err() != nil {
			r.silent.Remember(host, context.Cause(ctx))
		}
	}()
	dir, err := os.MkdirTemp("", "moult-remote-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	wanted := name
	if !commitHash.MatchString(name) {
		wanted = "refs/tags/" + strings.TrimPrefix(name, "refs/tags/")
	}
	git := func(args ...string) error { return runGit(ctx, dir, r.policy != nil, args...) }
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "."},
		{"remote", "add", "origin", address},
		{"fetch", "--quiet", "--depth=1", "--no-tags", "--filter=blob:none", "--recurse-submodules=no", "origin", "+" + wanted + ":refs/heads/wanted"},
	} {
		if err := git(args...); err != nil {
			return nil, err
		}
	}
	repository, err := gogit.PlainOpen(dir)
	if err != nil {
		return nil, err
	}
	return written(ctx, repository, network.WithoutUser(address)+" "+name)
}

// written is the branch that was fetched, on disk.
func written(ctx context.Context, repository *gogit.Repository, name string) (*Tree, error) {
	hash, err := repository.ResolveRevision(plumbing.Revision("refs/heads/wanted"))
	if err != nil {
		return nil, err
	}
	commit, err := repository.CommitObject(*hash)
	if err != nil {
		return nil, err
	}
	files, err := commit.Tree()
	if err != nil {
		return nil, err
	}
	t := &Tree{Name: name}
	if err := t.checkOut(ctx, &Tree{opened: repository}, files, ".", nil); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	t.Dir = t.Root
	return t, nil
}

// Close removes what was fetched.
func (r *Remotes) Close() error {
	var failed []error
	for _, tree := range r.known.All() {
		if tree != nil {
			failed = append(failed, tree.Close())
		}
	}
	return errors.Join(failed...)
}

// runGit asks no person at the keyboard. If it is limited, it speaks HTTP and SSH alone, and is not led elsewhere.
func runGit(ctx context.Context, dir string, limited bool, args ...string) error {
	// A helper of git that waits for a silent server outlives git: it is not waited for, and it gives up by itself.
	slow := []string{"-c", "http.lowSpeedLimit=1", "-c", fmt.Sprintf("http.lowSpeedTime=%d", int(longestFetch.Seconds()))}
	if limited {
		slow = append(slow, "-c", "http.followRedirects=false")
	}
	command := exec.CommandContext(ctx, "git", append(slow, args...)...)
	command.Dir, command.WaitDelay = dir, time.Second
	command.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", network.OwnSettings)
	if limited {
		command.Env = append(command.Env, "GIT_ALLOW_PROTOCOL=http:https:ssh")
	}
	if os.Getenv("GIT_SSH_COMMAND") == "" {
		command.Env = append(command.Env, "GIT_SSH_COMMAND=ssh -oBatchMode=yes")
	}
	said, err := command.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case len(said) == 0:
		return err
	}
	return errors.New(strings.Join(strings.Fields(string(said)), " "))
}
