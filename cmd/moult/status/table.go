package status

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printTable prints a line per CRD. Wide adds the condition's message.
func printTable(out io.Writer, rows []row, wide bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	header := "CRD\tSTORAGE\tSTORED\tCONDITION\tDONE/TOTAL\tRATE\tETA"
	if wide {
		header += "\tMESSAGE"
	}
	fmt.Fprintln(w, header)
	for _, r := range rows {
		counts, rate, eta := r.Progress.Cells()
		line := strings.Join([]string{r.Name, r.StorageVersion, strings.Join(r.StoredVersions, ","), r.condition(), counts, rate, eta}, "\t")
		if wide {
			line += "\t" + r.Message
		}
		fmt.Fprintln(w, line)
	}
	return w.Flush()
}
