package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/moult-dev/moult/clusters/network"
)

// fetchMissing fetches those of some blobs that a partial clone lacks, all at once, as Git itself does it: with Git, since
// go-git cannot. A clone that is not partial lacks none.
// https://git-scm.com/docs/partial-clone
func fetchMissing(ctx context.Context, repository *git.Repository, blobs []plumbing.Hash) error {
	promisor := promisorOf(repository)
	stored := storageOf(repository)
	if promisor == "" || stored == nil {
		return nil
	}
	var missing []string
	for _, blob := range blobs {
		if errors.Is(repository.Storer.HasEncodedObject(blob), plumbing.ErrObjectNotFound) {
			missing = append(missing, blob.String())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	fetch := exec.CommandContext(ctx, "git", "-c", "fetch.negotiationAlgorithm=noop", "fetch", promisor,
		"--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--filter=blob:none", "--stdin")
	fetch.Env = append(os.Environ(), network.OwnSettings)
	fetch.WaitDelay = time.Second // a helper of git may outlive it
	fetch.Dir, fetch.Stdin = stored.Filesystem().Root(), strings.NewReader(strings.Join(missing, "\n")+"\n")
	if said, err := fetch.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: this is a partial clone, and %d of its files could not be fetched from %s: %s", plumbing.ErrObjectNotFound, len(missing), promisor,
			strings.Join(strings.Fields(string(said)+" "+err.Error()), " "))
	}
	stored.Reindex() // there is a pack more
	return nil
}

// promisorOf is the remote that has what a partial clone lacks; empty for a clone that is whole.
func promisorOf(repository *git.Repository) string {
	config, err := repository.Config()
	if err != nil {
		return ""
	}
	for _, remote := range config.Raw.Section("remote").Subsections {
		if remote.Option("promisor") == "true" {
			return remote.Name
		}
	}
	return ""
}
