package lua

import "strings"

// ConfigMap is where Argo CD reads how to judge objects of a kind.
const ConfigMap = "argocd-cm"

// State is how an entry of the ConfigMap compares with what belongs there.
type State string

// All states.
const (
	Installed State = "installed"
	Missing   State = "missing"
	Different State = "different"
)

// Entry is what a comparison found about one key; its JSON form is what `moult check argocd -o json` prints.
type Entry struct {
	Key    string `json:"key"`
	State  State  `json:"state"`
	Needed bool   `json:"needed"`
	// Meaning and Remediation are words for people.
	Meaning     string `json:"meaning"`
	Remediation string `json:"remediation,omitempty"`
}

// Good reports whether the entry is as it should be, or not needed.
func (e Entry) Good() bool { return e.State == Installed || !e.Needed }

// Compare holds the data of the ConfigMap against what belongs into it.
func Compare(data map[string]string) []Entry {
	const component = "list clusters/components/argocd-health under components of the kustomization that installs Argo CD"
	entries := []Entry{
		{Key: GateHealthKey, Needed: true, Meaning: "makes a VersionRemoval a gate; without it, a VersionRemoval holds nothing back", Remediation: component},
		{Key: GateActionsKey, Meaning: "lets people retry, pause and resume a gate from Argo CD", Remediation: component},
		{Key: CRDHealthKey, Meaning: "makes opted-in CRDs gates themselves; replaces Argo CD's own check of CRDs", Remediation: "list clusters/components/argocd-crd-health instead, if you want that"},
	}
	wanted := ArgoCDConfig()
	for i := range entries {
		e := &entries[i]
		want, have := wanted[e.Key], data[e.Key]
		switch {
		case strings.TrimSpace(have) == strings.TrimSpace(want):
			e.State, e.Remediation = Installed, ""
		case have == "":
			e.State = Missing
		default:
			e.State = Different
		}
	}
	return entries
}
