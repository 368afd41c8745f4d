// Package bridge is `moult bridge`: the CRD between an old state and a new one that drops versions.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/policies/bridge"
	crdrefusal "github.com/moult-dev/moult/policies/crddiff/refusal"
)

// command prints the CRD between two states.
type command struct {
	*cli.Factory
	base, head string
	live, keep bool
	names      []string
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	b := &command{Factory: f}
	c := &cobra.Command{
		Use:   "bridge --base PATH --head PATH",
		Short: "Print the intermediate CRD for clusters that skip a release",
		Long: `Print the CRD to be applied between an old state and a new one that drops versions
and moves the storage version at once. It is the new CRD with the versions put back
that the old state has. It carries the opt-in label, so that Moult rewrites every
object at the new storage version. Comments at its top say what to do next.

The old state is in Git (--base) or what a cluster has (--live), which also shows
what is stored. --live asks for --context. Places are folders, which are built as
Flux builds them, files, git:REV:PATH, backups, or - for standard input.

The new state may be an older release: then this is the CRD on the way back, and
` + "`moult plan CRD --back-to VERSION`" + ` prints all of the steps. With --keep-storage, objects stay
stored as they are, so that the flip is a commit of its own.

` + f.ExitCodes(cli.Codes{
			Done:    "the CRDs are printed",
			NotDone: "there is nothing to bridge",
		}),
		Example: f.Example(`  moult bridge --base git:v1.2.0:config/crd --head config/crd > bridge.yaml

  # from what a cluster has
  moult bridge --live --context production --head config/crd --crd widgets.example.com

  # back to an older release, whose version is served first
  moult bridge --live --context production --head git:v1.2.0:config/crd --keep-storage`),
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return b.run(c.Context(), c.InOrStdin()) },
	}
	c.Flags().StringVar(&b.base, "base", "", "where the old CRDs are: a folder, a kustomization, a file, git:REV:PATH, or - for standard input")
	c.Flags().StringVar(&b.head, "head", "", "where the new CRDs are")
	c.Flags().BoolVar(&b.live, "live", false, "take what the cluster of --context has for the old CRDs")
	c.Flags().BoolVar(&b.keep, "keep-storage", false, "objects stay stored as in the old state; the flip is another commit")
	c.Flags().StringSliceVar(&b.names, "crd", nil, "only this CRD, as in widgets.example.com; may be given several times")
	return c
}

func (b *command) validate() error {
	switch {
	case b.head == "":
		return errors.New("name the new state with --head: a folder, a kustomization, a file, git:REV:PATH, or - for standard input")
	case b.head == "-" && b.base == "-":
		return errors.New("only one of --base and --head can be standard input")
	case b.live == (b.base != ""):
		return errors.New("name the old state with either --base or --live")
	case b.live && b.ContextName == "":
		return errors.New("--live asks for a --context of the kubeconfig, so that it is the cluster that you mean")
	case !b.live && b.ContextName != "":
		return errors.New("--context is for --live; --base asks no cluster")
	}
	return nil
}

func (b *command) run(ctx context.Context, stdin io.Reader) error {
	if err := b.validate(); err != nil {
		return err
	}
	head, err := input.CRDs(ctx, b.head, stdin, b.names...)
	if err != nil {
		return fmt.Errorf("--head: %w", err)
	}
	old, err := b.old(ctx, head, stdin)
	if err != nil {
		return err
	}
	var documents, needless []string
	for _, crd := range head {
		document, why, err := b.between(old[crd.Name], crd)
		switch {
		case err != nil:
			return err
		case why != "":
			needless = append(needless, why)
		default:
			documents = append(documents, document)
		}
	}
	if len(documents) == 0 {
		return cli.NotDone{Sentence: "there is nothing to bridge", Details: needless}
	}
	fmt.Fprint(b.Out, strings.Join(documents, "---\n"))
	return nil
}

// between is the document of the CRD in between, or why none is needed.
func (b *command) between(before, head *apiextensionsv1.CustomResourceDefinition) (document, needless string, err error) {
	if before == nil {
		return "", fmt.Sprintf("%s is not in %s: it is new", head.Name, b.from()), nil
	}
	build := bridge.Between
	if b.keep {
		build = bridge.KeepStorage
	}
	made, err := build(before, head, b.LabelKey)
	if unneeded := (*bridge.NotNeeded)(nil); errors.As(err, &unneeded) {
		return "", b.needless(unneeded, before, head), nil
	}
	if err == nil {
		err = b.refused(before, made.CRD)
	}
	if err != nil {
		return "", "", err
	}
	document, err = b.document(made)
	return document, "", err
}

func (b *command) from() string {
	if b.live {
		return "the cluster of " + b.ContextName
	}
	return input.Called(b.base)
}

// old are the CRDs of the old state, by name. Of a cluster only those are read that the new state has.
func (b *command) old(ctx context.Context, head []*apiextensionsv1.CustomResourceDefinition, stdin io.Reader) (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	if !b.live {
		crds, err := input.CRDs(ctx, b.base, stdin)
		if err != nil {
			return nil, fmt.Errorf("--base: %w", err)
		}
		for _, crd := range crds {
			found[crd.Name] = crd
		}
		return found, nil
	}
	cluster, err := b.Cluster()
	if err != nil {
		return nil, err
	}
	for _, crd := range head {
		live, err := cluster.GetCRD(ctx, crd.Name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, cli.ReadError(err)
		}
		found[crd.Name] = live
	}
	return found, nil
}

// document is a CRD as a file in Git would have it.
func (b *command) document(made *bridge.Bridge) (string, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(made.CRD)
	if err != nil {
		return "", err
	}
	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	text, err := yaml.Marshal(content)
	return made.Header(b.from(), input.Called(b.head)) + string(text), err
}

// refused is the error for an intermediate CRD that the API server would not take in place of the old one. What the old one
// has as well is printed as a note: an API server that has the old one may accept it again.
func (b *command) refused(before, made *apiextensionsv1.CustomResourceDefinition) error {
	for _, r := range crdrefusal.Of(before, made) {
		if !r.Known {
			return fmt.Errorf("the API server would refuse the intermediate CRD of %s: %s: %s; fix the CRDs that it is made of first", made.Name, r.Path, r.Said)
		}
		fmt.Fprintf(b.ErrOut, "%s was like this before, and a Kubernetes API server of today refuses it: %s: %s\n", made.Name, r.Path, r.Said)
	}
	return nil
}

// needless is why there is nothing to bridge for a CRD. That it could be applied as it is must not be said of one that the
// API server refuses.
func (b *command) needless(why *bridge.NotNeeded, before, head *apiextensionsv1.CustomResourceDefinition) string {
	for _, r := range crdrefusal.Of(before, head) {
		if !r.Known {
			return fmt.Sprintf("%s needs no intermediate CRD, but the API server would refuse the new one: %s: %s; fix it first", head.Name, r.Path, r.Said)
		}
	}
	return why.Error()
}
