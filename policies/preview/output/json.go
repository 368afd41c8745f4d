package output

import (
	_ "embed" // the schema
	"encoding/json"
	"fmt"

	"github.com/moult-dev/moult/policies/preview"
)

// Schema is the JSON schema of what JSON writes. It lists every field and allows no other.
//
//go:embed report.schema.json
var Schema []byte

// JSON is the whole report, as Schema describes it.
func JSON(r preview.Report) ([]byte, error) { return indented(r, r, "JSON") }

func indented(r preview.Report, document any, format string) ([]byte, error) {
	content, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the preview of %s and %s as %s: %w", r.Base, r.Head, format, err)
	}
	return append(content, '\n'), nil
}
