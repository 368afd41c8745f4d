package render

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/moult-dev/moult/clusters/network"
)

// bases are the repositories of remote bases, each revision fetched once. Kustomize has git fetch a base for every build that names it, and a
// repository may have one in forty folders.
type bases struct {
	dirs  network.Once[string, string] // by what git gets of an address
	known network.Once[baseRevision, bool]
	count atomic.Int32
}

// baseRevision is a revision of a repository.
type baseRevision struct{ address, ref string }

const (
	// mostBases is how many revisions are kept. Kustomize fetches the others itself.
	mostBases = 200
	// longestBase is how long Kustomize lets git take.
	longestBase = 27 * time.Second
)

// get fetches a revision, and returns where it lies; empty if it is not kept. The settings are how many git takes from the environment.
func (b *bases) get(of baseRevision, settings string) (string, error) {
	dir, err := b.dirs.Get(of.address, func() (string, error) {
		dir, err := os.MkdirTemp("", "moult-bases-")
		return dir, errors.Join(err, inGit(dir, settings, "init", "--quiet", "--bare", "--initial-branch=none"), inGit(dir, settings, "config", "uploadpack.allowAnySHA1InWant", "true"))
	})
	if err != nil {
		return "", err
	}
	kept, err := b.known.Get(of, func() (bool, error) {
		if b.count.Add(1) > mostBases {
			return false, nil
		}
		name := of.ref
		if !strings.HasPrefix(name, "refs/") {
			name = "refs/tags/" + name
		}
		if err := inGit(dir, settings, "fetch", "--depth=1", of.address, of.ref); err != nil {
			return false, err
		}
		return true, inGit(dir, settings, "update-ref", name, "FETCH_HEAD")
	})
	if !kept {
		dir = ""
	}
	return dir, err
}

// inGit runs git. Its error is that of Kustomize, which names the repository.
func inGit(dir, settings string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), longestBase)
	defer cancel()
	git := exec.CommandContext(ctx, "git", args...)
	git.Dir, git.Env = dir, append(os.Environ(), "GIT_CONFIG_COUNT="+settings)
	if out, err := git.CombinedOutput(); err != nil {
		return fmt.Errorf("failed to run 'git %s': %s: %w", strings.Join(args, " "), strings.TrimSpace(string(out)), err)
	}
	return nil
}

// Close removes what was fetched.
func (b *Builds) Close() error {
	var failed []error
	for _, dir := range b.bases.dirs.All() {
		if dir != "" {
			failed = append(failed, os.RemoveAll(dir))
		}
	}
	return errors.Join(failed...)
}

// fetch has git take a base from where it was fetched to. Only what names a revision is of git for sure.
func (r *remotes) fetch(base remoteBase) error {
	address := base.repository()
	if r.bases == nil || base.ref == "" || address == "" {
		return nil
	}
	dir, err := r.bases.get(baseRevision{address, base.ref}, r.settings)
	if err == nil && dir != "" && !r.taken[address] {
		r.taken[address] = true
		configure("url.file://"+filepath.ToSlash(dir)+".insteadOf", address)
	}
	return err
}

// configure adds a setting of git. limitGit takes it back.
func configure(key, value string) {
	count, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	_ = os.Setenv(fmt.Sprintf("GIT_CONFIG_KEY_%d", count), key)
	_ = os.Setenv(fmt.Sprintf("GIT_CONFIG_VALUE_%d", count), value)
	_ = os.Setenv("GIT_CONFIG_COUNT", strconv.Itoa(count+1))
}

// ofRepository is the part of an address that is its repository, as Kustomize takes it apart where nothing marks its end.
var ofRepository = regexp.MustCompile(`^https?://[^/]+/[^/]+/[^/]+`)

// repository is the part of the address that git gets; empty if that is not plain. A marked end is where Kustomize finds it.
func (b remoteBase) repository() string {
	scheme, rest, isURL := strings.Cut(b.address, "://")
	if !isURL || strings.Contains(rest, "_git/") {
		return ""
	}
	if before, _, marked := strings.Cut(rest, "//"); marked {
		return scheme + "://" + before
	}
	if before, _, marked := strings.Cut(rest, ".git"); marked {
		return scheme + "://" + before + ".git"
	}
	return ofRepository.FindString(b.address)
}
