// Package backup is `moult backup`: CRDs and their objects in a file, read back before it counts.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/clusters/archive"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/policies/words"
)

// exitNotKnown is the exit code of a backup that may lack what is stored at versions that could not be read.
const exitNotKnown = 2

type command struct {
	*cli.Factory
	file     string
	versions []string
	replace  bool
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
server remembers it for that long; the manifest in the file tells.

` + f.Name + ` restore brings the objects back. This is no backup of etcd, and not of what the
objects own or mount.

Exit codes:
  0    the backup is written and verified
  1    it is not: wrong arguments, no cluster, no such CRD, no permission, no room
  2    it is, and objects may be stored at versions that the cluster does not serve: what
       shows only there is not in it
  130  interrupted`,
		Example: f.Example(`  # before the storage version changes
  moult backup widgets.example.com gadgets.example.com -f backup.tar.gz

  # is it still as it was written?
  moult backup verify backup.tar.gz

  # what is in it
  tar tzf backup.tar.gz`),
		Args: func(_ *cobra.Command, names []string) error {
			if len(names) == 0 {
				return errors.New("name at least one CRD, as <plural>.<group>; see --help")
			}
			return nil
		},
		ValidArgsFunction: f.CompleteCRDs(func() string { return "" }),
		RunE: func(c *cobra.Command, names []string) error {
			return cli.OrNoAnswer(c, b.run(c.Context(), words.Distinct(names)))
		},
	}
	c.Flags().StringVarP(&b.file, "file", "f", "", "file to write, or - for standard output, which is not read back")
	c.Flags().StringSliceVar(&b.versions, "version", nil, "version to read the objects at; may be given several times; default: all that are served")
	c.Flags().BoolVar(&b.replace, "replace", false, "replace the file if it is there")
	output.AddFlag(c, &b.output)
	_ = c.MarkFlagFilename("file", "gz", "tgz")
	c.AddCommand(newVerify(f))
	return c
}

func (b *command) run(ctx context.Context, names []string) error {
	if err := output.CheckFormat(b.output); err != nil {
		return err
	}
	switch {
	case b.file == "":
		return errors.New("name the file to write with -f, for example -f backup.tar.gz")
	case b.file == "-" && b.output != "":
		return errors.New("-f - and -o both write to standard output; leave one out")
	}
	cluster, err := b.Cluster()
	if err != nil {
		return err
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for crd, err := range cluster.GetCRDs(ctx, names) {
		if err != nil {
			return cli.ReadError(err)
		}
		all = append(all, crd)
	}
	write := func(out io.Writer) (string, error) { return b.write(ctx, cluster, all, out) }
	if b.file == "-" {
		_, err := write(b.Out)
		return err
	}
	written, err := Save(b.file, b.replace, write)
	if err != nil {
		return err
	}
	if err := b.tell(b.file, written); err != nil {
		return err
	}
	return notAll(written)
}

// write writes a backup of CRDs.
func (b *command) write(ctx context.Context, cluster *inspect.Cluster, all []*apiextensionsv1.CustomResourceDefinition, out io.Writer) (digest string, err error) {
	return Write(ctx, cluster, all, out, b.versions, progress.NewObjects(b.ErrOut).Tell)
}

// notAll is the verdict on a backup that may lack something.
func notAll(written *archive.Backup) error {
	for _, of := range written.CRDs {
		if len(of.NotRead) > 0 {
			return cli.Ended{Code: exitNotKnown, Err: fmt.Errorf("objects of %s may be stored at %s, which was not read: fields that show only there are not in the backup; serve it, and back up again",
				of.Name, strings.Join(of.NotRead, ", "))}
		}
	}
	return nil
}

// tell says what a file has.
func (b *command) tell(file string, written *archive.Backup) error {
	return tell(b.Factory, b.output, file, written)
}

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
		fmt.Fprintf(f.Out, "  %s  %s, %s\n", of.Name, words.Count(of.Objects, "object"), at)
	}
	return nil
}
