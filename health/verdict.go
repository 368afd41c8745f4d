package health

// Status is how an object fares, in Argo CD's words.
type Status string

const (
	// Healthy: what comes after the object may go ahead. kstatus: Current.
	Healthy Status = "Healthy"

	// Progressing: wait; it clears by itself, or when somebody repairs the
	// cluster. kstatus: InProgress, Terminating.
	Progressing Status = "Progressing"

	// Degraded: waiting is of no use, a commit is needed. Argo CD fails the sync
	// and does not look again until there is one. kstatus: Failed.
	Degraded Status = "Degraded"
)

// Verdict is an object's status and a sentence for people. Neither is ever empty.
type Verdict struct {
	Status  Status
	Message string
}

func healthy(message string) Verdict     { return Verdict{Healthy, message} }
func progressing(message string) Verdict { return Verdict{Progressing, message} }
func degraded(message string) Verdict    { return Verdict{Degraded, message} }

// notLookedYet is the verdict's beginning while the last report is about an older object.
const notLookedYet = "Moult has not looked at this generation yet"
