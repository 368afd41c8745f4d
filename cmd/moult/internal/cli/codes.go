package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// topic is what `moult help` calls the exit codes.
const topic = "exit-codes"

// NewExitCodes makes the help topic about exit codes, which does nothing.
func NewExitCodes(f *Factory) *cobra.Command {
	return &cobra.Command{
		Use:   topic,
		Short: "What the exit codes mean",
		Long: `An exit code means the same in every command. The help of a command says what
0, 1, 3 and 4 mean there.

  0    yes          done, or nothing found that counts; there may be warnings
  1    no           not done, found, lost, refused, blocked, damaged, left over,
                    or the time is over
  2    error        no answer: wrong arguments or flags, a file or a cluster that
                    cannot be read, no rights to the CRDs themselves, a prompt
                    that was declined, a crash
  3    unknown      nothing bad was seen, and not everything could be looked at
  4    warnings     only with --fail-on warning
  130  interrupted

A script that only asks whether something is fine needs no more than zero or not:
  ` + f.Name + ` doctor && echo fine

` + f.Name + ` preview, ` + f.Name + ` doctor and ` + f.Name + ` snapshot have --fail-on: the mildest
result that does not end with 0.`,
	}
}

// Codes is the part of a help text that says what exit codes mean there; a code that the command does not end with is left out.
type Codes struct{ Done, NotDone, Unknown, Warnings string }

// ExitCodes is that part as text.
func (f *Factory) ExitCodes(c Codes) string {
	var text strings.Builder
	text.WriteString("Exit codes:\n")
	for _, of := range []struct {
		code    int
		meaning string
	}{{ExitDone, c.Done}, {ExitNotDone, c.NotDone}, {ExitUnknown, c.Unknown}, {ExitWarnings, c.Warnings}} {
		if of.meaning != "" {
			fmt.Fprintf(&text, "  %d  %s\n", of.code, strings.ReplaceAll(of.meaning, "\n", "\n     "))
		}
	}
	fmt.Fprintf(&text, "For the others, see %s help %s.", f.Name, topic)
	return text.String()
}
