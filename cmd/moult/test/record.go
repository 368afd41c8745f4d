package test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/roundtrip"
	"github.com/moult-dev/moult/policies/words"
)

// recorder is what a person wants to be recorded.
type recorder struct {
	command

	release string
	objects []string
	force   bool
}

func newRecord(f *cli.Factory) *cobra.Command {
	r := &recorder{command: command{Factory: f}}
	c := &cobra.Command{
		Use:   "record FOLDER --release RELEASE --crds CRDS",
		Short: "Write the fixtures of a release for moult test conversion",
		Long: `Write the fixtures of a release: for each CRD and each of its served versions an object
with as many fields as the schema has, or the objects of --objects. An object of a
cluster is written without what the cluster adds to its metadata.

Where a trip to another version does not keep all, what it keeps is written to
FOLDER/RELEASE/GROUP.VERSION.KIND.after_roundtrip.yaml, and the loss is reported. Check
that you accept the loss before you commit the file. For that, a conversion webhook has to
be asked, as with moult test conversion. Existing files stay as they are, except with
--force.

` + f.ExitCodes(cli.Codes{
			Done:    "the fixtures are written, or were there",
			NotDone: "of some version no object could be made that the API server takes, or an\nobject does not survive a trip, or two trips end differently",
			Unknown: "they are written, and what a trip leaves of some could not be looked at",
		}),
		Example: f.Example(`  # before a release
  moult test record test/fixtures --release release-0.3 --crds config/crd \
    --webhook-command 'bin/manager --webhook-port=$WEBHOOK_PORT --webhook-cert-path=$WEBHOOK_CERT_DIR'

  # of objects that people have
  moult test record test/fixtures --release release-0.3 --crds config/crd --objects config/samples`),
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return r.run(c.Context(), args[0], c)
		},
	}
	c.Flags().StringVar(&r.crds, "crds", "", "the CRDs: a folder, a file, git:REV:PATH, or - for standard input")
	c.Flags().StringVar(&r.release, "release", "", "name of the release, and of its folder, such as release-0.3")
	c.Flags().StringSliceVar(&r.objects, "objects", nil, "where objects are that become fixtures: a folder, a file, git:REV:PATH, or -; default: made from the schemas")
	c.Flags().BoolVar(&r.force, "force", false, "write over files that are there")
	c.Flags().Uint64Var(&r.seed, "seed", 1, "random seed: the same seed makes the same objects")
	r.webhook.Bind(c)
	return c
}

func (r *recorder) run(ctx context.Context, folder string, c *cobra.Command) error {
	if r.release == "" || r.release == "." || !filepath.IsLocal(r.release) || strings.ContainsAny(r.release, `/\`) {
		return fmt.Errorf("--release %q names no folder; write it like release-0.3", r.release)
	}
	config, err := settingsIn(folder)
	if err != nil {
		return err
	}
	subject, err := r.webhook.Subject(ctx, r.crds, c.InOrStdin())
	if err != nil {
		return err
	}
	given, err := r.given(ctx, c)
	if err != nil {
		return err
	}
	askers, stop, err := r.webhook.Open(ctx, subject, r.Factory)
	if err != nil {
		return err
	}
	defer stop()
	var failed []error
	written := 0
	for i, ask := range askers {
		e, err := ask(subject.CRDs[i])
		if err != nil {
			return err
		}
		objects, err := r.of(ctx, subject.CRDs[i], e, given, config)
		failed = append(failed, err)
		for _, o := range objects {
			failed = append(failed, r.write(ctx, filepath.Join(folder, r.release), roundtrip.NewChecker(e, config.Of(e.CRD)), o))
			written++
		}
	}
	if err := cli.Joined(failed...); err != nil || ctx.Err() != nil {
		return err
	}
	if written == 0 {
		return errors.New("there is no object of these CRDs in --objects; name the folder that holds some")
	}
	return nil
}

// settingsIn are those of a folder, which may not be there yet.
func settingsIn(folder string) (roundtrip.Config, error) {
	content, err := os.ReadFile(filepath.Join(folder, roundtrip.Settings))
	if errors.Is(err, fs.ErrNotExist) {
		return roundtrip.Config{}, nil
	}
	if err != nil {
		return roundtrip.Config{}, err
	}
	_, config, err := roundtrip.Fixtures([]roundtrip.File{{Name: roundtrip.Settings, Content: content}})
	return config, err
}

// given are the objects of all places.
func (r *recorder) given(ctx context.Context, c *cobra.Command) (all []unstructured.Unstructured, err error) {
	for _, place := range r.objects {
		some, err := input.Objects(ctx, place, c.InOrStdin())
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// of are the fixtures of a CRD, by their file: one of each served version, or those that are given.
func (r *recorder) of(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, e *conversion.Engine, given []unstructured.Unstructured, config roundtrip.Config) (objects []roundtrip.Object, err error) {
	if len(r.objects) == 0 {
		generators, _ := r.generators(crd, e, config)
		for _, version := range e.Served() {
			content := generators[version].Full(ctx)
			if content == nil && ctx.Err() == nil {
				err = cli.Joined(err, cli.NotDone{Sentence: fmt.Sprintf("%s at %s: no object could be made that the API server takes; name one with --objects", e.CRD, version)})
				continue
			}
			content["metadata"].(map[string]any)["name"] = "recorded" //nolint:errcheck,forcetypeassert // the generator has put it there
			objects = append(objects, roundtrip.Object{Name: fileOf(content, ""), Content: content})
		}
		return objects, err
	}
	var known []string
	for _, object := range given {
		if !e.IsOf(object.Object) {
			continue
		}
		for _, field := range []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink"} {
			unstructured.RemoveNestedField(object.Object, "metadata", field)
		}
		file := fileOf(object.Object, "")
		if slices.Contains(known, file) {
			file = fileOf(object.Object, strings.TrimPrefix(object.GetNamespace()+"."+object.GetName(), ".")+".")
		}
		known = append(known, file)
		objects = append(objects, roundtrip.Object{Name: file, Content: object.Object})
	}
	return objects, nil
}

// fileOf is the name of a fixture.
func fileOf(content map[string]any, more string) string {
	object := unstructured.Unstructured{Object: content}
	gvk := object.GroupVersionKind()
	return fmt.Sprintf("%s.%s.%s.%syaml", gvk.Group, gvk.Version, gvk.Kind, more)
}

// write writes a fixture, and beside it what remains of it after a trip that does not keep all.
func (r *recorder) write(ctx context.Context, folder string, checker *roundtrip.Checker, o roundtrip.Object) error {
	file := filepath.Join(folder, o.Name)
	if _, err := os.Stat(file); err == nil && !r.force {
		fmt.Fprintf(r.Out, "%s is there, and is left as it is\n", file)
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // it is to be committed
		return err
	}
	if err := writeYAML(file, o.Content); err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "%s is written\n", file)
	after, lost, err := checker.After(ctx, o)
	if err != nil {
		code := cli.ExitNotDone
		if errors.As(err, new(roundtrip.NotLookedAt)) {
			code = cli.ExitUnknown
		}
		return cli.Ended{Code: code, Err: fmt.Errorf("%s: what a trip leaves of it is not recorded: %w", file, err)}
	}
	beside := strings.TrimSuffix(file, ".yaml") + ".after_roundtrip.yaml"
	if after == nil {
		if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := writeYAML(beside, after); err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "%s is written: check that you accept these differences\n", beside)
	for _, what := range lost {
		fmt.Fprintf(r.Out, "  %s\n", words.Line(what))
	}
	return nil
}

func writeYAML(file string, content map[string]any) error {
	raw, err := yaml.Marshal(content)
	if err != nil {
		return err
	}
	return output.WriteFile(file, raw)
}
