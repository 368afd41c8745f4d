// Package backup is `moult backup`: CRDs and their objects in a file, read back before it counts.
package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/clusters/archive"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/words"
)

type command struct {
	*cli.Factory
	file     string
	versions []string
	replace  bool
	annotate bool
	output   string
}

// document is what -o json and -o yaml print.
type document struct {
	File   string `json:"file"`
	Digest string `json:"digest"`
	archive.Manifest
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	b := &command{Factory: f}
	c := &cobra.Command{
		Use:   "backup CRD... -f FILE",
		Short: "Write CRDs and their objects to a file, and read it back",
		Long: `Write the named CRDs with their status, and each of their objects at each version that
the cluster serves, to a file: with status, managedFields and owners. What is stored at
an old version may show only there, so take a backup before the storage version changes.

The file is a .tar.gz in the layout of Velero, with the SHA-256 of each file in it, and
of all of it. It is written beside its place, read back from the first byte to the last,
and only then gets its name. Objects are read at one moment of the cluster, if the API
server remembers it for that long; the manifest in the file records whether it did.

With --annotate each CRD gets the annotation moult.dev/backup once the file was read back:
the time, the digest, and the CRD's UID, generation and storage version. A VersionRemoval
with require: [Backup] waits for it. It is not written if the CRD's spec has changed
meanwhile, or if what is stored at a version that is not served may be missing.
An object that cannot be read or converted keeps no other from the backup. It is named, the
backup is marked incomplete, and such a VersionRemoval waits for a complete one.

` + f.Name + ` restore brings the objects back. This is no backup of etcd, and not of what the
objects own or mount.

` + f.ExitCodes(cli.Codes{
			Done:    "the backup is written and verified",
			NotDone: "what was read back is damaged, or a CRD could not be annotated",
			Unknown: "it is written and verified, and something is not in it: an object that could\nnot be read, or what may be stored at a version that is not served",
		}),
		Example: f.Example(`  # before the storage version changes
  moult backup widgets.example.com gadgets.example.com -f backup.tar.gz

  # before versions are removed; opens gates that ask for a backup
  moult backup widgets.example.com -f before-removal.tar.gz --annotate

  # is it still as it was written?
  moult backup verify backup.tar.gz

  # what is in it
  tar tzf backup.tar.gz`),
		Args:              f.SomeCRDs,
		ValidArgsFunction: f.CompleteCRDs,
		RunE: func(c *cobra.Command, names []string) error {
			return b.run(c.Context(), words.Distinct(names))
		},
	}
	c.Flags().StringVarP(&b.file, "file", "f", "", "file to write, or - for standard output, which is not read back")
	c.Flags().StringSliceVar(&b.versions, "version", nil, "version to read the objects at; may be given several times; default: all that are served")
	c.Flags().BoolVar(&b.replace, "replace", false, "replace the file if it is there")
	c.Flags().BoolVar(&b.annotate, "annotate", false, "write the annotation moult.dev/backup on the CRDs, for VersionRemovals with require: [Backup]; needs patch on them")
	output.AddFlag(c, &b.output)
	_ = c.MarkFlagFilename("file", "gz", "tgz")
	c.AddCommand(newVerify(f))
	return c
}

func (b *command) run(ctx context.Context, names []string) error {
	if err := b.check(); err != nil {
		return err
	}
	if b.file == "-" {
		_, err := b.write(ctx, names, b.Out)
		return err
	}
	var on *rest.Config
	if b.annotate { // a person may be asked, so it comes before what takes long
		cfg, err := b.ConfigToWrite(false)
		if err != nil {
			return err
		}
		on = cfg
	}
	written, err := save(b.file, b.replace, func(out io.Writer) (string, error) { return b.write(ctx, names, out) })
	if err != nil {
		return err
	}
	if err := tell(b.Factory, b.output, b.file, written); err != nil {
		return err
	}
	switch err := notRead(written); {
	case on == nil:
		return notAll(written)
	case err != nil:
		return cli.Ended{Code: cli.ExitUnknown, Err: fmt.Errorf("%w; so it was not annotated", err)}
	}
	return cmp.Or(b.annotateAll(ctx, on, written), notAll(written))
}

func (b *command) check() error {
	switch {
	case b.file == "":
		return errors.New("name the file to write with -f, for example -f backup.tar.gz")
	case b.annotate && b.file == "-":
		return errors.New("--annotate is for a file that is read back; name one with -f")
	case b.annotate && len(b.versions) > 0:
		return errors.New("--annotate is for a backup at all versions that are served; leave --version out")
	case b.file == "-" && b.output != "":
		return errors.New("-f - and -o both write to standard output; leave one out")
	}
	return nil
}

// Take is a backup for another command, which goes on only if nothing is missing in it.
func Take(ctx context.Context, f *cli.Factory, names []string, file string) (digest string, err error) {
	b := &command{Factory: f, file: file}
	written, err := save(file, false, func(out io.Writer) (string, error) { return b.write(ctx, names, out) })
	if err != nil {
		return "", err
	}
	return written.Digest, notAll(written)
}

// write writes a backup of the named CRDs.
func (b *command) write(ctx context.Context, names []string, out io.Writer) (digest string, err error) {
	cluster, err := b.Cluster()
	if err != nil {
		return "", err
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for crd, err := range cluster.GetCRDs(ctx, names) {
		if err != nil {
			return "", cli.ReadError(err)
		}
		all = append(all, crd)
	}
	return write(ctx, cluster, all, out, b.versions, b.LabelKey, progress.NewObjects(b.ErrOut).Tell)
}

// notAll is the verdict on a backup that lacks something, or may.
func notAll(written *archive.Backup) error {
	if err := notRead(written); err != nil {
		return err
	}
	for _, of := range written.CRDs {
		if len(of.Missing) == 0 {
			continue
		}
		objects := words.Of(of.Missing, func(m archive.Missing) string {
			return fmt.Sprintf("%s at %s (%s)", m.Object, strings.Join(m.At, ", "), m.Why)
		})
		return cli.Ended{Code: cli.ExitUnknown, Err: fmt.Errorf("the backup is incomplete: %d of %s of %s could not be read: %s; repair or delete what cannot be read, and back up again",
			len(of.Missing), words.Count(of.Objects, "object"), of.Name, words.FewClauses(objects, 5))}
	}
	return nil
}

// notRead is the verdict on a backup that was not read at a version with more fields.
func notRead(written *archive.Backup) error {
	for _, of := range written.CRDs {
		for _, version := range of.NotRead {
			if why := unseen(written.Definitions[of.Name], version, of.Versions); why != "" {
				return cli.Ended{Code: cli.ExitUnknown, Err: fmt.Errorf("objects of %s may be stored at %s, which was not read, and %s: that is not in the backup; serve %[2]s, and back up again", of.Name, version, why)}
			}
		}
	}
	return nil
}

// unseen says what may be stored at a version that shows at none of those that were read; empty if nothing is.
func unseen(crd *apiextensionsv1.CustomResourceDefinition, version string, read []string) string {
	if len(read) == 0 {
		return "no version is served"
	}
	if crds.HasWebhook(crd) {
		return "what the webhook does not convert shows only there"
	}
	only, err := lacking(crd, version, read[0])
	for _, other := range read[1:] {
		some, errOther := lacking(crd, version, other)
		err = errors.Join(err, errOther)
		only = slices.DeleteFunc(only, func(field string) bool { return !slices.Contains(some, field) })
	}
	switch {
	case err != nil:
		return "some fields may show only there"
	case len(only) > 0:
		return "these fields show only there: " + words.Few(only, 5)
	}
	return ""
}

// lacking are the fields of a version that do not show at another.
func lacking(crd *apiextensionsv1.CustomResourceDefinition, version, at string) ([]string, error) {
	fields, err := crdschema.Of(crds.StoredAt(crd, at))
	if err != nil {
		return nil, err
	}
	return fields.Lacking(version), nil
}

// tell says what a file has.
func tell(f *cli.Factory, format, file string, written *archive.Backup) error {
	if format != "" {
		return output.Print(f.Out, format, document{File: file, Digest: written.Digest, Manifest: written.Manifest})
	}
	fmt.Fprintf(f.Out, "%s  verified, of %s\n", file, written.Time.Format("2006-01-02 15:04:05 MST"))
	fmt.Fprintf(f.Out, "  %s\n", written.Digest)
	for _, of := range written.CRDs {
		at := "not read, as no version is served"
		if len(of.Versions) > 0 {
			at = "at " + strings.Join(slices.Sorted(slices.Values(of.Versions)), ", ")
		}
		if len(of.Missing) > 0 {
			at += fmt.Sprintf("; incomplete: %d could not be read", len(of.Missing))
		}
		fmt.Fprintf(f.Out, "  %s  %s, %s\n", of.Name, words.Count(of.Objects, "object"), at)
	}
	return nil
}
