package plan

import "time"

// MigrationStatus is how far the migration of one CRD is, for those who wait for it.
type MigrationStatus struct {
	Subject  Subject
	Decision Decision
	// Evidence is what is known about the CRD.
	Evidence Evidence
	// Walking is the walk under way, nil if there is none.
	Walking *Walking
	// FailedObjects name those that could not be rewritten, the first 20; FailedBy
	// counts all of them, by reason.
	FailedObjects []FailedObject
	FailedBy      map[string]int64
	// Writers are the field managers seen at versions that are to go, the latest
	// first; of very many, those that wrote last.
	Writers []Writer
	// LastWrites is the latest write seen at each such version, by any client.
	LastWrites map[string]time.Time
	// Losses are what field managers lose of ownership, or would lose.
	Losses []Loss
}

// FailedObject is an object that could not be rewritten.
type FailedObject struct {
	Namespace string // empty if the object has none
	Reason    string // CamelCase, few values
	// Text names the object and says why, in the API server's words.
	Text string
}

// Writer is a field manager that wrote objects at a version.
type Writer struct {
	Manager   string // with its operation and subresource, in words
	Version   string
	Objects   int64
	Last      time.Time
	LastWrote string // the object, as namespace/name
}
