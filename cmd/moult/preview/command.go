// Package preview is `moult preview`: two states of a repository, and what is known of its clusters, become a report.
package preview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
)

// command is a pull request that somebody is to review.
type command struct {
	*cli.Factory
	base, head string
	entries    []string
	also       []string
	alsoBase   []string
	snapshots  []string
	contexts   []string
	fields     bool
	outputs    []string
	failOn     cli.FailOn
	marker     string
	artifact   string
	links      string
	maxAge     time.Duration
	charts     []string
	offline    bool
	allowHosts []string
	trustHead  bool
	secrets    string

	noted []finding.Finding // about the files that flags name
	found bool              // the entries were not named, but found
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	p := &command{Factory: f}
	c := &cobra.Command{
		Use:   "preview --base WHERE --head WHERE",
		Short: "Show a reviewer what a pull request does to CRDs, in every cluster",
		Long:  long(f),
		Example: f.Example(`  # this branch against the default branch, every CRD in the repository
  moult preview

  # this branch against where it left main, without the network
  moult preview --offline --base "git:$(git merge-base origin/main HEAD)" --head . --entry clusters/production

  # with that commit in BASE: two clusters, one by a snapshot, one asked; a comment, and a page with all of it
  moult preview --base git:$BASE --head git:HEAD \
      --entry clusters/production --snapshot production=snapshots/production.yaml \
      --entry clusters/staging --context staging=kind-staging \
      -o markdown=comment.md -o html=preview.html

  # a chart, rendered before and after, beside the manifests of the repository
  moult preview --base git:$BASE --head . --entry clusters/production \
      --also-base before.yaml --also after.yaml

  # what Helm renders
  helm template widgets ./chart --include-crds | moult preview --base crds-1.2.0.yaml --head -`),
		Args:              cli.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return p.run(c.Context(), c.InOrStdin()) },
	}
	p.bind(c)
	return c
}

// long is the command's help.
func long(f *cli.Factory) string {
	return `Compare the CRDs of two states of a repository and answer: may a version go, in every
cluster, and what happens at each wave?

WHERE is a folder, a file, git:REV:PATH, or - for what Helm or another tool has rendered.
By default, the working folder is compared with the commit where its branch has left the
default branch. With --entry, an entry point such as clusters/production is built, and
the Flux Kustomizations and Argo CD Applications in it are followed, as that cluster
would. --entry may be given several times. It may be a chart, with files of values, as in
apps?values=values-prod.yaml. Without --entry, the entry points of the repository are found
and all of them followed. Where there are none, every CRD in a file is compared: as it is,
and as each kustomization around it builds it. Charts are rendered. What cannot be fetched
or rendered is named, and if it is added, removed or changed, the verdict is unknown.

Charts come from the repository, from --charts, or from their registry, over HTTP or OCI
and with the credentials that Helm keeps. Remote bases, and other repositories at a tag or
a commit, are fetched with git. In CI only those hosts are asked that the base already
uses, and those that --allow-hosts names; with --offline, none.

What a cluster stores is not in Git: --snapshot names a file that moult snapshot wrote,
--context a cluster to ask, read-only. Both may be given several times, as ENTRY=FILE and
ENTRY=CONTEXT if there are several entry points; the last part of an entry point's path
will do. A cluster about which nothing is known is never called safe.

Cluster generators of ApplicationSets give the clusters that --cluster-secrets names. Of each
Secret, the labels, annotations, name, server and project count; leave credentials out.

--also and --also-base name what else the cluster gets after and before the pull request,
rendered by Helm or whatever else, so that it is judged together with the repository.

` + f.ExitCodes(cli.Codes{
		Done:     "safe, or nothing that --fail-on names",
		NotDone:  "blocked: some cluster would refuse it, or lose something",
		Unknown:  "a version leaves, and what some cluster stores is not known; or what a\ncluster gets changes, and cannot be seen",
		Warnings: "warnings, with --fail-on warning",
	}) + `

What is unknown can be acknowledged in the repository, in ` + preview.AcknowledgementsFile + ` at its root: what, why, and until
when. Then it is reported and does not count.

A pull request cannot silence findings about itself: ` + preview.AcknowledgementsFile + ` is read from --base. So are the files of
--snapshot, --also-base and --cluster-secrets and the folders of --charts, where --base is a revision that
has them. The report says where the head changes such a file. With --trust-head the head's
are read, for repositories in which all who can open a pull request may decide this.`
}

func (p *command) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&p.base, "base", "", "the repository before: a folder, a kustomization, a file, git:REV:PATH, or -; default: the commit where this branch has left the default branch")
	f.StringVar(&p.head, "head", "", "the repository after; default: the working folder")
	f.StringArrayVar(&p.entries, "entry", nil, "a folder that is a cluster's entry point, such as clusters/production, or a chart, as apps or apps?values=FILE; may be given several times; default: those that are found")
	f.StringArrayVar(&p.also, "also", nil, "[ENTRY=]FILE of manifests that are rendered elsewhere and that the cluster gets, too, after the pull request; may be given several times")
	f.StringArrayVar(&p.alsoBase, "also-base", nil, "[ENTRY=]FILE, the same before the pull request")
	f.StringArrayVar(&p.snapshots, "snapshot", nil, "[ENTRY=]FILE, which moult snapshot wrote; may be given several times")
	f.BoolVar(&p.fields, "fields", false, "with --context: read all objects, and count which fields they have, to show whether a field that goes is in use")
	f.StringArrayVar(&p.contexts, "context", nil, "[ENTRY=]CONTEXT of the kubeconfig, a cluster to ask; may be given several times")
	f.StringArrayVarP(&p.outputs, "output", "o", nil, "FORMAT or FORMAT=FILE, where FORMAT is text, markdown, json, html, annotations (GitHub) or codequality (GitLab); may be given several times; default: text")
	p.failOn.AddFlag(c, cli.FailOnUnknown, "blocked", cli.FailOnUnknown, cli.FailOnWarning)
	f.StringVar(&p.marker, "marker", "", "name that distinguishes this preview's comment from others on the same pull request")
	f.StringVar(&p.artifact, "artifact", "", "address or name of the whole report, for the comment")
	f.StringVar(&p.links, "links", "", "where files can be read, as https://git.example.com/team/repo/blob/SHA/{file}#L{line}; default: at the remote origin, if --head is a revision and the forge is known")
	f.DurationVar(&p.maxAge, "max-age", 24*time.Hour, "how old a snapshot may be without a warning; 0 for any age")
	f.StringArrayVar(&p.charts, "charts", nil, "a folder with charts, as NAME-VERSION.tgz or unpacked, that is looked into before a registry is asked; may be given several times")
	f.BoolVar(&p.offline, "offline", false, "fetch nothing: no charts from registries, no remote bases, no other repositories")
	f.StringSliceVar(&p.allowHosts, "allow-hosts", nil, "hosts that may be asked for charts, remote bases and other repositories, beside those that the base uses; in CI no others are asked")
	f.BoolVar(&p.trustHead, "trust-head", false, "read acknowledgements, and files of the repository that flags name, from --head, which may be a fork's")
	f.StringVar(&p.secrets, "cluster-secrets", "", "file of the Secrets about the clusters that Argo CD knows, with or without their credentials, for cluster generators of ApplicationSets")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("context", p.CompleteContexts)
}

func (p *command) run(ctx context.Context, stdin io.Reader) error {
	debug.SetGCPercent(400)         // manifests are parsed once and dropped: a third of the time goes into looking for what to keep
	debug.SetMemoryLimit(320 << 20) // the process takes a sixth more
	defer p.limit(ctx, mostMemory, longest, grace, os.Exit)()
	report, err := p.preview(ctx, stdin)
	if err != nil {
		return err
	}
	return p.ending(report.Verdict)
}

// preview makes the report and writes it out.
func (p *command) preview(ctx context.Context, stdin io.Reader) (preview.Report, error) {
	if err := p.validate(); err != nil {
		return preview.Report{}, err
	}
	outputs, err := parseOutputs(p.outputs)
	if err != nil {
		return preview.Report{}, err
	}
	if err := p.findSides(); err != nil {
		return preview.Report{}, err
	}
	sides, err := p.open(ctx, stdin)
	if err != nil {
		return preview.Report{}, err
	}
	defer sides.close()
	input, err := p.input(ctx, sides)
	if err != nil {
		return preview.Report{}, err
	}
	if p.links == "" && sides.head.tree != nil {
		p.links = sides.head.tree.Links
	}
	for _, chosen := range sides.charts.Chosen() {
		fmt.Fprintf(p.ErrOut, "chart: %s\n", chosen)
	}
	report := preview.Make(input)
	return report, p.write(report, outputs)
}

// findSides takes the working folder for the head, and for the base the same at the commit where this branch has left the
// default branch.
func (p *command) findSides() error {
	here := p.head == ""
	if here {
		p.head = "."
	}
	if p.base != "" {
		return nil
	}
	const name = "name what the pull request starts from with --base: a folder, a kustomization, a file, git:REV:PATH, or - for standard input"
	if !here {
		return errors.New(name)
	}
	base, branch, err := repository.WhereLeft()
	if err != nil {
		return fmt.Errorf("%w; or %s", err, name)
	}
	p.base = base
	fmt.Fprintf(p.ErrOut, "--base is %s, where this branch has left %s\n", base, branch)
	return nil
}

func (p *command) validate() error {
	switch {
	case p.base == "-" && p.head == "-":
		return errors.New("only one of --base and --head can be standard input")
	case len(p.entries) == 0 && len(p.also)+len(p.alsoBase) > 0:
		return errors.New("--also is about what a cluster gets beside its entry point; name that with --entry")
	case len(p.entries) > 0 && (p.base == "-" || p.head == "-"):
		return errors.New("--entry needs the files of the repository, and standard input has none; leave one of them out")
	case p.maxAge < 0:
		return fmt.Errorf("--max-age %s is below 0; 0 is for any age", p.maxAge)
	}
	return nil
}

// codes are the exit codes of the verdicts.
var codes = map[preview.Verdict]int{
	preview.Safe: cli.ExitDone, preview.Warned: cli.ExitWarnings, preview.Unknown: cli.ExitUnknown, preview.Blocked: cli.ExitNotDone,
}

// ending is the exit code of a verdict, if that fails.
func (p *command) ending(v preview.Verdict) error { return p.failOn.Ending(codes[v]) }
