package plan

import "time"

// Step is what the reconciler does next. The set is closed.
type Step string

const (
	// Forget drops all that is known: the CRD no longer exists.
	Forget Step = "Forget"
	// Withdraw takes our condition back: the opt-in label was removed.
	Withdraw Step = "Withdraw"
	// Leave does nothing and writes nothing: the CRD is not in our scope.
	Leave Step = "Leave"
	// Hold says why nothing is done and waits for the CRD to change.
	Hold Step = "Hold"
	// Wait says what is waited for, until Decision.Until.
	Wait Step = "Wait"
	// Follow reports the progress of the walk under way.
	Follow Step = "Follow"
	// Rewrite starts a rewriting walk.
	Rewrite Step = "Rewrite"
	// Check starts a checking walk.
	Check Step = "Check"
	// Survey starts a surveying walk.
	Survey Step = "Survey"
	// Trim sets storedVersions to the storage version alone.
	Trim Step = "Trim"
	// Rest has nothing to do: proved and clean.
	Rest Step = "Rest"
)

// Decision is a step, what to say about it and how long it holds by itself.
type Decision struct {
	// Rule is the name of the rule that decided.
	Rule string
	Step Step
	// Reason and Sentence are for the StorageMigrated condition; empty when
	// nothing is to be said (Forget, Withdraw, Leave).
	Reason   string
	Sentence string
	// Looking is that the sentence counts objects that are looked at before any is rewritten or checked.
	Looking bool
	// Until is when to decide again without being woken; zero for never.
	Until time.Time
}
