package test

import (
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/engines"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/controllers/rewrite/fieldownership"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/generate"
	"github.com/moult-dev/moult/policies/roundtrip"
)

// command is what a person wants to be tested.
type command struct {
	*cli.Factory
	crds    string
	accept  string
	fuzz    int
	seed    uint64
	report  output.Report[roundtrip.Report]
	webhook engines.Webhook
}

func newConversion(f *cli.Factory) *cobra.Command {
	r := &command{Factory: f, report: output.ReportOf(findings)}
	c := &cobra.Command{
		Use:   "conversion [FOLDER] --crds CRDS",
		Short: "Test that the conversion of CRDs loses nothing, there and back",
		Long:  long(f),
		Example: f.Example(`  # the fixtures of this repository, through its webhook
  moult test conversion test/fixtures --crds config/crd \
    --webhook-command 'bin/manager --webhook-port=$WEBHOOK_PORT --webhook-cert-path=$WEBHOOK_CERT_DIR'

  # and 1,000 made objects of each version
  moult test conversion test/fixtures --crds config/crd --fuzz 1000 \
    --webhook https://localhost:9443/convert --webhook-ca ca.crt

  # losses that are accepted: a list of crd, path and reason
  moult test conversion test/fixtures --crds config/crd --accept losses.yaml -o junit`),
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return r.run(c.Context(), args, c)
		},
	}
	c.Flags().StringVar(&r.crds, "crds", "", "the CRDs: a folder, a file, git:REV:PATH, or - for standard input")
	c.Flags().StringVar(&r.accept, "accept", "", "file with losses that are accepted: a YAML list of crd, path and reason")
	c.Flags().IntVar(&r.fuzz, "fuzz", 0, "how many objects to make from the schema of each version; default: none")
	c.Flags().Uint64Var(&r.seed, "seed", 1, "random seed: the same seed makes the same objects")
	r.webhook.Bind(c)
	r.report.AddFlag(c)
	_ = c.MarkFlagFilename("accept", "yaml", "yml")
	return c
}

// long is the help text.
func long(f *cli.Factory) string {
	return `Convert objects from their version to each other version that is served, and back, and
list what is not as it was. What the API server does beside the webhook (pruning,
defaults, schemas, rules) is done by its own code. No cluster is asked.

The objects are the fixtures of the folder, one in each file, of this release and of
older ones: RELEASE/GROUP.VERSION.KIND.yaml. The differences after a trip that are
accepted are in RELEASE/GROUP.VERSION.KIND.after_roundtrip.yaml beside it.

With --fuzz N, N objects of each version are made from its schema, all of which the API
server would take. For each loss, the smallest object that shows it is printed. FOLDER
can be left out then.

The file moult-test.yaml in the folder names fields that confirm something destructive.
Their loss is reported first and cannot be accepted:
  confirmations:
    - {crd: widgets.example.com, path: spec.confirmDeletion}
It also gives the values that made objects have where the webhook wants more than the
schema says:
  values:
    - {crd: widgets.example.com, path: "spec.hosts[*].timeout", values: [10s, 1m0s]}

What a conversion webhook does is known only if it can be asked:
  --webhook-command CMD  it is started for this, by the shell, and ended. It listens on
                         127.0.0.1, port $WEBHOOK_PORT, with tls.crt and tls.key of the
                         folder $WEBHOOK_CERT_DIR; the path is the CRD's, or /convert
  --webhook URL          there, for example https://localhost:9443/convert;
                         --webhook-ca is the file with its certificate authority
  --webhook crd          as the CRDs say

` + f.ExitCodes(cli.Codes{
		Done:    "nothing is lost",
		NotDone: "something is lost, changed or refused, or cannot be converted",
		Unknown: "nothing is lost of what could be looked at, and some could not",
	})
}

func (r *command) run(ctx context.Context, args []string, c *cobra.Command) error {
	accepted, err := input.Accepted(r.accept)
	if err != nil {
		return err
	}
	objects, config, err := r.fixtures(args)
	if err != nil {
		return err
	}
	subject, err := r.webhook.Subject(ctx, r.crds, c.InOrStdin())
	if err != nil {
		return err
	}
	if err := known(config, subject); err != nil {
		return err
	}
	counts, unknown, err := r.check(ctx, subject, objects, config)
	if err != nil {
		return err
	}
	report := roundtrip.ReportOf(counts, accepted, unknown)
	if err := r.report.Print(r.Out, report); err != nil {
		return err
	}
	return cli.EndedBy(report.Verdict == conversion.NotKept, report.Verdict == conversion.NotKnown)
}

// check takes all objects there and back. What belongs to none of the CRDs is not known.
func (r *command) check(ctx context.Context, s *engines.Subject, objects []roundtrip.Object, config roundtrip.Config) (counts []*roundtrip.Counts, unknown []string, err error) {
	askers, stop, err := r.webhook.Open(ctx, s, r.Factory)
	if err != nil {
		return nil, nil, err
	}
	defer stop()
	for i, ask := range askers {
		e, err := ask(s.CRDs[i])
		if err != nil {
			return nil, nil, err
		}
		var own []roundtrip.Object
		objects = slices.DeleteFunc(objects, func(o roundtrip.Object) bool {
			is := e.IsOf(o.Content)
			if is {
				own = append(own, o)
			}
			return is
		})
		confirmations := config.Of(e.CRD)
		of := roundtrip.NewCounts(e, confirmations)
		types, err := fieldownership.TypeConverterOf(s.CRDs[i])
		if err != nil {
			return nil, nil, err
		}
		checker := roundtrip.NewChecker(e, confirmations).WithTypes(types)
		checker.Check(ctx, own, of)
		if r.fuzz > 0 && len(e.Served()) > 1 {
			r.generated(ctx, s.CRDs[i], e, checker, of, config)
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		counts = append(counts, of)
	}
	if why := r.webhook.Ended(); why != "" {
		unknown = append(unknown, why)
	}
	for _, o := range objects {
		unknown = append(unknown, fmt.Sprintf("%s: none of the CRDs is of %v, %v", o.Name, o.Content["apiVersion"], o.Content["kind"]))
	}
	return counts, unknown, nil
}

// known refuses settings about a CRD that there is not: they would hold nothing to anything.
func known(config roundtrip.Config, s *engines.Subject) error {
	for _, name := range config.CRDs() {
		if !slices.ContainsFunc(s.Engines, func(e *conversion.Engine) bool { return e.CRD == name }) {
			return fmt.Errorf("%s: there is no %s in the CRDs of --crds", roundtrip.Settings, name)
		}
	}
	return nil
}

// fixtures are those of the folder that is named. With made objects, there need not be any.
func (r *command) fixtures(args []string) ([]roundtrip.Object, roundtrip.Config, error) {
	switch {
	case r.fuzz < 0:
		return nil, roundtrip.Config{}, fmt.Errorf("--fuzz %d is no number of objects", r.fuzz)
	case len(args) == 0 && r.fuzz > 0:
		return nil, roundtrip.Config{}, nil
	case len(args) == 0:
		return nil, roundtrip.Config{}, fmt.Errorf("name the folder with the fixtures, for example test/fixtures, or have objects made with --fuzz 1000")
	}
	folder := args[0]
	info, err := os.Stat(folder)
	if err != nil {
		return nil, roundtrip.Config{}, input.NoSuchPath(folder, err)
	}
	if !info.IsDir() {
		return nil, roundtrip.Config{}, fmt.Errorf("%s is a file; name the folder with the fixtures", folder)
	}
	var files []roundtrip.File
	below := os.DirFS(folder)
	err = fs.WalkDir(below, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := fs.ReadFile(below, name)
		files = append(files, roundtrip.File{Name: name, Content: content})
		return err
	})
	if err != nil {
		return nil, roundtrip.Config{}, err
	}
	objects, config, err := roundtrip.Fixtures(files)
	if err != nil {
		return nil, config, fmt.Errorf("%s: %w", folder, err)
	}
	if len(objects) == 0 && r.fuzz == 0 {
		return nil, config, fmt.Errorf("%s holds no fixture; a fixture is an object in RELEASE/GROUP.VERSION.KIND.yaml", folder)
	}
	return objects, config, nil
}

// atOnce is how many objects of a version are made before they are taken there and back.
const atOnce = 100

// generated makes objects of each version and takes them there and back, and makes those smaller that show something.
func (r *command) generated(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, e *conversion.Engine, checker *roundtrip.Checker, counts *roundtrip.Counts, config roundtrip.Config) {
	generators, shrinkers := r.generators(crd, e, config)
	var last []roundtrip.Object
	made := map[string]int{}
	for done := 0; done < r.fuzz && ctx.Err() == nil; done += atOnce {
		n := min(atOnce, r.fuzz-done)
		last = nil
		for _, version := range e.Served() {
			g := generators[version]
			if g == nil {
				continue
			}
			some := g.Make(ctx, n)
			counts.ThrownAway(some.ThrownAway)
			for i, content := range some.Objects {
				last = append(last, roundtrip.Object{Name: fmt.Sprintf("generated %s %d", version, made[version]+i+1), Content: content, Generated: true})
			}
			if made[version] += len(some.Objects); len(some.Objects) < n && ctx.Err() == nil {
				counts.NotLookedAt(version, fmt.Sprintf("of %d objects, only %d could be made that the API server takes; the last was thrown away as %s", r.fuzz, made[version], some.Why))
				generators[version] = nil
			}
		}
		checker.Check(ctx, last, counts)
	}
	for version, g := range generators {
		if g != nil {
			counts.Missed(version, g.Missed())
		}
	}
	checker.Shrink(ctx, counts, shrinkers, last)
}

// generators are those of each version. Each has a chance of its own, so that the objects of one CRD do not depend on another.
func (r *command) generators(crd *apiextensionsv1.CustomResourceDefinition, e *conversion.Engine, config roundtrip.Config) (map[string]*generate.Generator, map[string]roundtrip.Shrinker) {
	generators, shrinkers := map[string]*generate.Generator{}, map[string]roundtrip.Shrinker{}
	for _, version := range e.Served() {
		name := fnv.New64a()
		_, _ = name.Write([]byte(crd.Name + "/" + version)) // it does not fail
		g := generate.New(e, generate.Options{
			Version: version, APIVersion: crd.Spec.Group + "/" + version, Kind: crd.Spec.Names.Kind,
			Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped, Values: config.ValuesOf(crd.Name),
		}, rand.New(rand.NewPCG(r.seed, name.Sum64()))) //nolint:gosec // objects of a test, not secrets
		generators[version], shrinkers[version] = g, g
	}
	return generators, shrinkers
}
