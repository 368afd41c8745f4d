package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/clusters/archive"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
)

// Thrifty collects garbage more often until it is ended: objects pass through, and the API server is what takes time.
func Thrifty() (end func()) {
	was := debug.SetGCPercent(25)
	return func() { debug.SetGCPercent(was) }
}

// write writes a backup of CRDs, with their objects at some versions; without any, at all that are served.
func write(ctx context.Context, cluster *inspect.Cluster, all []*apiextensionsv1.CustomResourceDefinition, out io.Writer, only []string, labelKey string, tell func(inspect.Progress)) (digest string, err error) {
	defer Thrifty()()
	w, err := archive.NewWriter(out, time.Now(), cluster.UID(ctx))
	if err != nil {
		return "", err
	}
	for _, crd := range all {
		versions := inspect.Readable(crd)
		if len(only) > 0 {
			versions = only
		}
		for _, version := range versions {
			if v := crds.Version(crd, version); v == nil || !v.Served {
				return "", fmt.Errorf("%s does not serve %s; leave --version out, or name one that it serves", crd.Name, version)
			}
		}
		objects, err := w.CRD(crd, versions, crds.MayBeStoredAt(crd, labelKey))
		if err != nil {
			return "", err
		}
		at := ""
		if len(versions) > 0 {
			at, err = cluster.EachCopy(ctx, inspect.Copies{CRD: crd, Versions: versions, Tell: tell, Take: func(page []inspect.Copied) error {
				for _, o := range page {
					if err := objects.Add(o.Copies, (*archive.Missing)(o.Unread)); err != nil {
						return err
					}
				}
				return nil
			}})
			if err != nil && ctx.Err() == nil && len(versions) > 1 {
				err = fmt.Errorf("%w; if that is the conversion, --version leaves a version out", err)
			}
			if err != nil {
				return "", err
			}
		}
		objects.End(at)
	}
	return w.Close()
}

// save gives a backup its name when it has been written and read back.
func save(file string, replace bool, write func(io.Writer) (digest string, err error)) (*archive.Backup, error) {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) && !replace {
		if err != nil {
			return nil, output.CannotWrite(file, err)
		}
		return nil, fmt.Errorf("%s is there; name another file, or write over it with --replace", file)
	}
	partial, err := os.OpenFile(file+".partial", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600) // it may hold secrets
	if err != nil {
		return nil, output.CannotWrite(file, err)
	}
	defer func() { _ = errors.Join(partial.Close(), removed(partial.Name())) }()
	digest, err := write(partial)
	if err != nil {
		return nil, err
	}
	if err := partial.Sync(); err != nil {
		return nil, output.CannotWrite(file, err)
	}
	written, err := open(partial)
	if err != nil {
		return nil, damaged(fmt.Errorf("reading back what was written: %w", err))
	}
	if written.Digest != digest {
		return nil, damaged(fmt.Errorf("%s has %s, and %s was written; look at the disk", partial.Name(), written.Digest, digest))
	}
	if err := os.Rename(partial.Name(), file); err != nil {
		return nil, output.CannotWrite(file, err)
	}
	return written, nil
}

// removed removes a file that may have got its name.
func removed(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// damaged is the error of a file that is not as it was written.
func damaged(err error) error { return cli.Ended{Code: cli.ExitNotDone, Err: err} }

func open(file *os.File) (*archive.Backup, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return archive.Open(file, info.Size())
}

func newVerify(f *cli.Factory) *cobra.Command {
	format := ""
	c := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check that a backup is as it was written, and list what is in it",
		Long: `Read a backup from the first byte to the last, and check the SHA-256 of each file in it,
and of all of it. A changed byte, a file that is missing or was swapped, and an end that
was cut off are refused. No cluster is asked.

` + f.ExitCodes(cli.Codes{
			Done:    "the backup is as it was written",
			NotDone: "it is damaged",
			Unknown: "it is as it was written, and incomplete: objects could not be read, or may have\nbeen stored at versions that were not read",
		}),
		Example: f.Example(`  moult backup verify backup.tar.gz`),
		Args: func(c *cobra.Command, names []string) error {
			if len(names) != 1 {
				return fmt.Errorf("name one FILE; see %s --help", c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, names []string) error {
			written, done, err := OpenFile(names[0])
			if err != nil {
				return err
			}
			done()
			if err := tell(f, format, names[0], written); err != nil {
				return err
			}
			return notAll(written)
		},
	}
	output.AddFlag(c, &format)
	return c
}

// OpenFile reads a backup to its end. It stays open until done. A damaged one is no error of the question, but bad news.
func OpenFile(name string) (written *archive.Backup, done func(), err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = file.Close() } // it was only read
	if written, err = open(file); err != nil {
		done()
		return nil, nil, damaged(fmt.Errorf("%s: %w", name, err))
	}
	return written, done, nil
}
