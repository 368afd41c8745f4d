package runbook

import "github.com/moult-dev/moult/policies/conversion"

// Name is one of the steps. The set is closed.
type Name string

// The first phase, and then the second, in their order.
const (
	// Serve: a release serves the new version beside the old.
	Serve Name = "serve"
	// Rehearse: what the flip does to the objects is looked at.
	Rehearse Name = "rehearse"
	// BackUp: the objects are written to a file.
	BackUp Name = "backUp"
	// OptIn: the CRD gets the label.
	OptIn Name = "optIn"
	// Flip: the new version becomes the storage version.
	Flip Name = "flip"
	// Migrate: every object is stored again, and that is proved.
	Migrate Name = "migrate"
	// Look: what else names the versions that are to be removed is found, and changed.
	Look Name = "look"
	// Unserve: they are served no more.
	Unserve Name = "unserve"
	// Ask: a VersionRemoval names them, in the commit that removes them.
	Ask Name = "ask"
	// BackUpAgain: the objects are written to a file since the flip, where a VersionRemoval requires that.
	BackUpAgain Name = "backUpAgain"
	// Wait: the gate opens.
	Wait Name = "wait"
	// Remove: they leave spec.versions.
	Remove Name = "remove"
)

// State is how far a step is. The set is closed.
type State string

const (
	// Done: the cluster shows that it is done.
	Done State = "done"
	// Over: it belongs before the flip, which is done; nothing in the cluster shows whether it was done.
	Over State = "over"
	// Advised: nothing in the cluster shows whether it has been done, or it has found something. See to it before the next step.
	Advised State = "advised"
	// Next: it is what is to be done now.
	Next State = "next"
	// Waiting: it is under way, and no person has to do anything.
	Waiting State = "waiting"
	// Held: it cannot go on until somebody does something.
	Held State = "held"
	// Later: others come before it.
	Later State = "later"
	// Unknown: what shows it could not be read.
	Unknown State = "unknown"
)

// Step is one of a Plan.
type Step struct {
	// Phase is 1 or 2.
	Phase int   `json:"phase"`
	Name  Name  `json:"name"`
	State State `json:"state"`
	// Title says what is done, and Seen what the cluster shows of it.
	Title string `json:"title"`
	Seen  string `json:"seen,omitempty"`
	// Risk is what may happen, and Back how it is taken back.
	Risk string `json:"risk"`
	Back string `json:"back"`
	// First is what comes before the commit, each in one of its own, and holds the step.
	First []string `json:"first,omitempty"`
	// Commit is what is changed in Git.
	Commit string `json:"commit,omitempty"`
	// Commands are for a shell.
	Commands []string `json:"commands,omitempty"`
}

// Plan is what is done and what remains for one CRD.
type Plan struct {
	CRD string `json:"crd"`
	// To is the version that is to be stored, and Leaving are those that are to be removed.
	To      string   `json:"to"`
	Leaving []string `json:"leaving"`
	// Return is true on the way back to To.
	Return bool `json:"return,omitempty"`
	// Next is the first step that is not done; empty if all are.
	Next  Name   `json:"next,omitempty"`
	Steps []Step `json:"steps"`
	// Rehearsed is what becomes of the objects by the flip back, if they were looked at.
	Rehearsed *conversion.Report `json:"rehearsed,omitempty"`
	// Released is what becomes of them by the CRD of the release, if that has another schema of the version than the flip brings.
	Released *conversion.Report `json:"released,omitempty"`
	// Notes are what could not be read, and what was assumed.
	Notes []string `json:"notes,omitempty"`
}
