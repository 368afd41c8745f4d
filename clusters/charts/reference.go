package charts

import (
	"errors"
	"fmt"
	"strings"
)

// Reference names a chart from elsewhere.
type Reference struct {
	// Repository is the address of a Helm repository (https://…) or of a registry (oci://…). With OCI it may be that of the
	// chart itself; then Name is empty.
	Repository string
	// Name is the chart's.
	Name string
	// Version is a version or a range of versions; empty is the newest.
	Version string
	// Tag is that of an OCI repository, in place of a Version.
	Tag string
	// Digest is that of an OCI manifest, empty for any.
	Digest string
	// Insecure: the registry speaks HTTP.
	Insecure bool
}

// String is the reference as it is shown to a person.
func (r Reference) String() string {
	text := strings.TrimSpace(r.Name + " " + r.Version + r.Tag)
	if r.Digest != "" {
		text = strings.TrimSpace(text + " " + r.Digest)
	}
	return strings.TrimSpace(text + " of " + r.Repository)
}

// ErrNotAsked: it is not known where charts come from.
var ErrNotAsked = errors.New("the chart is not in this repository")

// ErrOffline is the same where a registry may not be asked.
var ErrOffline = fmt.Errorf("%w, and nothing is fetched with --offline", ErrNotAsked)
