package status

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
)

// row is what status reports of one CRD; its JSON form is part of the command's interface.
type row struct {
	Name           string   `json:"name"`
	OptedIn        bool     `json:"optedIn"`
	StorageVersion string   `json:"storageVersion"`
	StoredVersions []string `json:"storedVersions"`
	// Migrated is true when the condition is True for the CRD as it is now.
	Migrated bool `json:"migrated"`
	// Reason and Message are the condition's; empty when there is none yet.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Outdated conditions speak of an earlier generation of the CRD.
	Outdated bool             `json:"outdated,omitempty"`
	Progress *progress.Counts `json:"progress,omitempty"`
	// Removable are the versions that the condition VersionsRemovable calls safe to remove from the CRD as it is now.
	Removable []string `json:"removable,omitempty"`

	versions []string // that the CRD has
}

// rowOf reads a CRD. The opt-in label is labelKey.
func rowOf(crd *apiextensionsv1.CustomResourceDefinition, labelKey string) row {
	m := crds.MigrationOf(crd, labelKey)
	r := row{
		Name: crd.Name, OptedIn: m.OptedIn, Migrated: m.Migrated, Reason: m.Reason, Message: m.Message, Outdated: m.Outdated,
		StorageVersion: crds.StorageVersion(crd), StoredVersions: crd.Status.StoredVersions,
		Removable: crds.CalledRemovable(crd), versions: crds.Versions(crd),
	}
	if counts, ok := v1alpha1.ParseProgress(m.Message); ok {
		r.Progress = progress.Of(counts)
	}
	return r
}

// condition is the row's condition in a few words.
func (r row) condition() string {
	switch {
	case !r.OptedIn:
		return "not opted in"
	case r.Reason == "":
		return "not seen yet; is moult-controller running?"
	case r.Outdated:
		return r.Reason + " (before the CRD changed)"
	default:
		return r.Reason
	}
}

func allMigrated(rows []row) bool {
	return len(rows) > 0 && !slices.ContainsFunc(rows, func(r row) bool { return !r.Migrated })
}

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
