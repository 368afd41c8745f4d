package backup

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/clusters/archive"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
)

func newVerify(f *cli.Factory) *cobra.Command {
	format := ""
	c := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check that a backup is as it was written, and tell what is in it",
		Long: `Read a backup from the first byte to the last, and check the SHA-256 of each file in it,
and of all of it: a changed byte, a file that is missing or was swapped, and an end that
was cut off are refused. No cluster is asked.

Exit codes:
  0    it is as it was written
  1    it is not, or cannot be read
  2    it is, and objects may have been stored at versions that were not read
  130  interrupted`,
		Example: f.Example(`  moult backup verify backup.tar.gz`),
		Args: func(c *cobra.Command, names []string) error {
			if len(names) != 1 {
				return fmt.Errorf("name one FILE; see %s --help", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, names []string) error {
			if err := output.CheckFormat(format); err != nil {
				return err
			}
			written, done, err := OpenFile(names[0])
			if err != nil {
				return cli.OrNoAnswer(c, err)
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

// OpenFile reads a backup to its end. It stays open until done.
func OpenFile(name string) (written *archive.Backup, done func(), err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = file.Close() } // it was only read
	if written, err = open(file); err != nil {
		done()
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return written, done, nil
}
