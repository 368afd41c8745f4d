package input

import (
	"fmt"
	"os"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/unpacking"
)

// Accepted are the losses that somebody means, in the file of --accept; empty is none.
func Accepted(file string) (accepted []conversion.Accepted, err error) {
	if file == "" {
		return nil, nil
	}
	content, err := os.ReadFile(file)
	if err == nil {
		err = unpacking.UnmarshalStrict(content, &accepted)
	}
	for i, a := range accepted {
		if err == nil && (a.CRD == "" || a.Path == "" || a.Reason == "") {
			err = fmt.Errorf("entry %d lacks the crd, the path or the reason", i+1)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("--accept %s: %w; write a list like\n- crd: widgets.example.com\n  path: spec.color\n  reason: no client reads it", file, err)
	}
	return accepted, nil
}
