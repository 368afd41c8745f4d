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
