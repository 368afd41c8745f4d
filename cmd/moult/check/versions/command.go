// Package versions is `moult check versions`: whether the releases of an operator keep Kubernetes' deprecation policy.
package versions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/clusters/releases"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/deprecation"
	"github.com/moult-dev/moult/policies/words"
)

// command is what a person wants to be looked at.
type command struct {
	*cli.Factory
	releases.Options

	policy string
	base   string
	report output.Report[deprecation.Report]
	newest bool

	// promote is the version whose promotion is looked at, crd the only CRD of it, and seenTo what a person has seen to.
	promote, crd string
	seenTo       []string
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	v := &command{Factory: f, report: output.Report[deprecation.Report]{Text: asText, Markdown: asMarkdown, JUnit: asJUnit}}
	c := &cobra.Command{
		Use:   "versions [REPOSITORY]",
		Short: "Check that the releases of an operator keep Kubernetes' deprecation policy for CRDs",
		Long: `Read the CRDs of each release, and of the work tree as the one to come, and compare each
step from one release to the next with Kubernetes' deprecation policy. It covers which
versions are stored, deprecated and removed when, what changes within a version that was
released, and whether there is a way back. No cluster is asked.

Releases are the tags of the REPOSITORY (default: this folder's) whose names are version
numbers, in their order. Of these, the first of each minor release and the newest are read,
at most 10; --patches, --last and --from change that. CRDs are looked for where operators
keep them (config/crd, crds, charts), or in the folders that --crds names. A folder with a
kustomization is built, and of others the files are read as they are.

A policy says how long versions are due to stay, how grave a rule is, and what is accepted.
It is ` + deprecation.PolicyFile + ` in the repository, or the file of --policy. For a pull request,
--base names the revision that it starts from: the policy is read there, as a pull request
must not accept its own errors.

` + indented(examplePolicy) + `
With --promote VERSION it prints the checklist of a promotion to that version in place of the
findings. The checklist has what Kubernetes' rules for changes of an API ask for before users
are sent there. Each is shown by the repository, not shown, or not to be known, and has the
command that shows it. What no repository can show, such as a rehearsal, is not to be known until
--seen-to says that you have seen to it.

Rules:
` + indented(words.Wrap("", "", strings.Join(deprecation.Rules(), ", "), 86)) + `

` + f.ExitCodes(cli.Codes{
			Done:    "no errors are found; there may be warnings; with --promote: everything is\nshown",
			NotDone: "there are errors that the policy does not accept; with --promote: something\nis not shown",
			Unknown: "something that may hold CRDs was not looked at, see the notes; with --promote\nalso: something is not to be known",
		}),
		Example: f.Example(`  moult check versions

  # what a pull request changes, beside what was released before
  moult check versions --newest

  # a history that is in no repository
  moult check versions --release v1.0.0=crds-1.0.0 --release v1.1.0=crds-1.1.0

  # may users be sent to v1beta1?
  moult check versions --promote v1beta1
  moult check versions --promote v1beta1 --seen-to 'objects were rehearsed' --seen-to 'there is a backup before the flip'

  # for CI
  moult check versions -o junit > versions.xml`),
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(c *cobra.Command, args []string) error {
			v.Repository = strings.Join(args, "")
			return v.run(c.Context())
		},
	}
	v.flags(c)
	return c
}

func (v *command) flags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringArrayVar(&v.Folders, "crds", nil, "a folder or file with CRDs, from the root of the repository; may be given several times")
	flags.StringVar(&v.Tags, "tags", "", "a pattern for the names of tags, for example 'api/v*'; default: all that begin with their number")
	flags.StringVar(&v.From, "from", "", "the first tag to be read")
	flags.IntVar(&v.Last, "last", 10, "how many releases to read at most; 0 for all")
	flags.BoolVar(&v.Patches, "patches", false, "read every patch release")
	flags.BoolVar(&v.PreReleases, "pre-releases", false, "read pre-releases, too")
	flags.BoolVar(&v.Unreleased, "unreleased", true, "take the work tree for the next release, if its CRDs are not those of the last tag")
	flags.StringVar(&v.Next, "next", "next", "what the next release is called; with a number, such as v2.0.0, it is known whether it is a major one")
	flags.StringArrayVar(&v.Named, "release", nil, "a release that no tag names, as NAME=PATH; several, in their order, in place of a repository")
	flags.BoolVar(&v.newest, "newest", false, "report only what the newest release changes, or the work tree; the others are what was before")
	flags.StringVar(&v.policy, "policy", "", "the file with the policy; default: "+deprecation.PolicyFile+" in the repository, if it is there")
	flags.StringVar(&v.base, "base", "", "the revision that a pull request starts from, such as origin/main: the policy is read there and not in the work tree")
	flags.StringVar(&v.promote, "promote", "", "a version, such as v1beta1: print the checklist of the promotion of the API to it")
	flags.StringVar(&v.crd, "crd", "", "with --promote, the name of the only CRD to look at; default: all that have the version")
	flags.StringArrayVar(&v.seenTo, "seen-to", nil, "with --promote, a criterion that no repository can show and that you have seen to, such as 'objects were rehearsed'; may be given several times")
	_ = c.RegisterFlagCompletionFunc("seen-to", cobra.FixedCompletions(deprecation.Criteria(), cobra.ShellCompDirectiveNoFileComp))
	v.report.AddFlag(c)
}

func (v *command) run(ctx context.Context) error {
	if v.Repository != "" && len(v.Named) > 0 {
		return errors.New("name a REPOSITORY or releases with --release, not both")
	}
	if v.base != "" && (v.policy != "" || len(v.Named) > 0) {
		return errors.New("--base is about the policy in a repository; leave it out with --policy and --release")
	}
	if err := v.validate(); err != nil {
		return err
	}
	v.Options.LabelKey, v.Progress = v.Factory.LabelKey, releases.Lines(v.ErrOut)
	v.CRDs = func(ctx context.Context, place string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
		return input.AllCRDs(ctx, place, nil)
	}
	v.Now = time.Now()
	source, err := releases.Read(ctx, v.Options)
	if err != nil {
		return err
	}
	if v.promote != "" {
		return v.promotion(source)
	}
	policy, err := v.readPolicy(ctx, source)
	if err != nil {
		return err
	}
	if len(source.Releases) < 2 {
		return fmt.Errorf("there are no two releases to compare: %s", strings.Join(append(words.Of(source.Releases, func(r releases.Release) string { return "only " + r.Name + " has CRDs" }), source.Notes...), "; "))
	}
	report := deprecation.Judge(deprecation.Input{
		Releases: source.History(), Earlier: source.Earlier, Newest: v.newest, Unchanged: source.Unchanged, Policy: policy, LabelKey: v.Factory.LabelKey,
	})
	report.Notes = append(report.Notes, source.Notes...)
	if weaker := policy.Weaker(); weaker != "" {
		report.Notes = append(report.Notes, "the policy asks for less than Kubernetes' own: "+weaker)
	}
	if err := v.report.Print(v.Out, report); err != nil {
		return err
	}
	if !report.OK {
		return cli.NotDone{Sentence: words.Count(report.Errors(), "error") + " in the history of the CRDs; what and where is above, and --help says how to accept some"}
	}
	return unread(source)
}

// validate is about flags that go with others.
func (v *command) validate() error {
	if v.crd != "" && v.promote == "" {
		return errors.New("--crd is for --promote only")
	}
	if len(v.seenTo) > 0 && v.promote == "" {
		return errors.New("--seen-to is for --promote only")
	}
	for _, name := range v.seenTo {
		if !slices.Contains(deprecation.Criteria(), name) {
			return fmt.Errorf("--seen-to %q is no criterion; those are: %s", name, strings.Join(deprecation.Criteria(), "; "))
		}
	}
	return nil
}

// unread is the end of a run in which something that may hold CRDs was not looked at.
func unread(source *releases.Source) error {
	if len(source.Unread) == 0 {
		return nil
	}
	return cli.Ended{Code: cli.ExitUnknown, Err: fmt.Errorf("not all CRDs were looked at: %s; render them, or have them as files, and name these with --crds or --release", source.Unread[0])}
}

// readPolicy reads the file that is named, or that of the repository.
func (v *command) readPolicy(ctx context.Context, source *releases.Source) (deprecation.Policy, error) {
	file := v.policy
	if file == "" {
		file = filepath.Join(source.Root, filepath.FromSlash(deprecation.PolicyFile))
	}
	content, err := v.policyIn(source.Root, file)
	if v.base != "" {
		proposed := content
		content, err = repository.CommittedAround(ctx, source.Root, v.base, file)
		if !bytes.Equal(content, proposed) {
			source.Notes = append(source.Notes, deprecation.PolicyFile+" differs from that of "+v.base+", which is the one that counts")
		}
	}
	if errors.Is(err, fs.ErrNotExist) && v.policy == "" {
		return deprecation.DefaultPolicy(), nil
	}
	var policy deprecation.Policy
	if err == nil {
		policy, err = deprecation.ReadPolicy(content)
	}
	if err != nil {
		return policy, fmt.Errorf("--policy %s: %w", file, err)
	}
	return policy, nil
}

// mostPolicy is how many bytes of a policy are read.
const mostPolicy = 1 << 20

// policyIn reads a file: the one that a person names, or that of the repository, which does not lead out of it.
func (v *command) policyIn(root, file string) ([]byte, error) {
	if v.policy != "" {
		return os.ReadFile(file)
	}
	opened, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // it was only read
	info, err := opened.Lstat(filepath.FromSlash(deprecation.PolicyFile))
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file, but a symbolic link or the like, which is not followed")
	case info.Size() > mostPolicy:
		return nil, fmt.Errorf("it has %d bytes; a policy has %d at most", info.Size(), mostPolicy)
	}
	return opened.ReadFile(filepath.FromSlash(deprecation.PolicyFile))
}

// examplePolicy is a policy that says everything.
const examplePolicy = `windows: # both have to be over
  stable: {releases: 3, days: 365}
  beta: {releases: 3, days: 270}
  alpha: {releases: 0, days: 0}
severities: # error, warning, info or off
  DefaultChanged: error
accept:
- rule: FieldRemoved
  crd: widgets.example.com
  version: v1beta1    # these three may be left out
  path: spec.colour
  release: v1.4.0     # the later one
  reason: no user has ever set it
`

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
