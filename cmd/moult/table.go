package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"
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
		counts, rate, eta := r.Progress.cells()
		line := strings.Join([]string{r.Name, r.StorageVersion, strings.Join(r.StoredVersions, ","), r.condition(), counts, rate, eta}, "\t")
		if wide {
			line += "\t" + r.Message
		}
		fmt.Fprintln(w, line)
	}
	return w.Flush()
}

// cells are the columns DONE/TOTAL, RATE and ETA.
func (p *progress) cells() (counts, rate, eta string) {
	counts, rate, eta = "-", "-", "-"
	if p == nil {
		return
	}
	counts = fmt.Sprintf("%d/%d", p.Done, p.Total)
	if p.Failed > 0 {
		counts += fmt.Sprintf(", %d failed", p.Failed)
	}
	if p.Rate > 0 {
		rate = fmt.Sprintf("%.0f/s", p.Rate)
	}
	if p.ETASeconds > 0 {
		eta = p.eta().String()
	}
	return counts, rate, eta
}

// formats are the values of -o that print a document.
var formats = map[string]func(any) ([]byte, error){
	"json": func(v any) ([]byte, error) {
		content, err := json.MarshalIndent(v, "", "  ")
		return append(content, '\n'), err
	},
	"yaml": yaml.Marshal,
}

func printDocument(out io.Writer, format string, v any) error {
	content, err := formats[format](v)
	if err != nil {
		return err
	}
	_, err = out.Write(content)
	return err
}
