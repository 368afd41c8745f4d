package preview

import (
	"fmt"

	"github.com/moult-dev/moult/policies/finding"
)

// The rules of what is said where a pull request changes something that decides what its own preview says.
const (
	// RuleTakenFromBase: the change does not count in this preview.
	RuleTakenFromBase = "TakenFromBase"
	// RuleTrustedHead: it does, since the caller trusts the head.
	RuleTrustedHead = "TrustedHead"
)

// TakenFromBase says that a file is read as the base has it.
func TakenFromBase(file string) finding.Finding {
	return finding.Finding{Rule: RuleTakenFromBase, Severity: finding.Info, Object: file, Place: finding.Place{File: file},
		Why:         fmt.Sprintf("%s differs between --base and --head, and is read from --base: a pull request cannot silence findings about itself", file),
		Remediation: "merge the change of this file on its own first; or use --trust-head where all who can open a pull request may decide this"}
}

// TrustedHead says that one is read as the head has it.
func TrustedHead(file string) finding.Finding {
	return finding.Finding{Rule: RuleTrustedHead, Severity: finding.Warning, Object: file, Place: finding.Place{File: file},
		Why:         fmt.Sprintf("%s differs between --base and --head, and is read from --head because of --trust-head: it may silence findings about this pull request", file),
		Remediation: "review what this file changes"}
}
