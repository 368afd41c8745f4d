package simulation

import "time"

// Schedule is all that happens in one play, apart from what Moult makes of it.
type Schedule struct {
	// Objects is how many there are in the beginning, stored at v1alpha1.
	Objects int
	Servers []Server
	// Routes are the ways a request of Moult's may go; a hash of the request and Seed chooses.
	Routes []Route
	Seed   uint64
	// Processes are those of the controller, one after the other or together.
	Processes []Process
	Events    []Event
}

// Server is an API server.
type Server struct {
	// Lag is how long after a change of the CRD it still goes by the former one.
	Lag time.Duration
}

// Route is what happens to a request of Moult's.
type Route struct {
	Server int
	// Hold is the time from the server's decision how to encode to the commit.
	Hold time.Duration
	// Report is the same for a write to the CRD's status. Nothing is assumed of it.
	Report time.Duration
	// Age is how old a list is that is served there.
	Age time.Duration
	// Expires makes the rest of a list expire, as if etcd had been compacted since its first page.
	Expires bool
}

// Process is one run of the controller, from its start until it is killed.
type Process struct {
	From time.Duration
	For  time.Duration // 0 for ever
	// Sight is how late its watch tells it of a CRD's change.
	Sight time.Duration
	// Skew is by how much its clock is off.
	Skew time.Duration
}

// Kind is what an event is. The set is closed.
type Kind string

const (
	// Flip makes Version the storage version.
	Flip Kind = "flip"
	// Edit changes something else in the CRD's spec.
	Edit Kind = "edit"
	// Trick sets storedVersions to the storage version alone, as if all were migrated.
	Trick Kind = "trick"
	// Doubt puts v1alpha1 back into storedVersions, which asks for a new proof.
	Doubt Kind = "doubt"
	// Recreate deletes the CRD with its objects and makes it anew, with Version as its storage version.
	Recreate Kind = "recreate"
	// Restore puts etcd back to what it held Back ago, as an administrator does: all API servers are started anew, so that
	// no request survives it. If Bumped, the revisions go on from where they were (etcdutl snapshot restore
	// --bump-revision --mark-compacted); otherwise they are dealt out once more, and Moult is restarted.
	Restore Kind = "restore"
	// Orphan takes the Namespace of some objects away for a while, with the objects left in it, as happens when somebody
	// clears the finalizers of one that is stuck. In the end it is made anew, or the objects are deleted if Emptied.
	Orphan Kind = "orphan"
	// Update changes Object, or creates it.
	Update Kind = "update"
	// Put changes Object if nobody has written it since the request began.
	Put Kind = "put"
	// Touch writes Object as it is.
	Touch Kind = "touch"
	// Delete deletes Object.
	Delete Kind = "delete"
	// DeleteAll deletes all objects in one request, one after the other. Those with a finalizer stay and are marked.
	DeleteAll Kind = "deletion of all objects"
	// Blind interrupts the watches of all processes; they miss what happens meanwhile and see only what has come of it.
	Blind Kind = "blind"
	// Down makes Server answer no request of Moult's for a while.
	Down Kind = "down"
	// Lose makes Server's answers to Moult be lost for a while, after they have had their effect.
	Lose Kind = "lose"
)

// Event is something that happens.
type Event struct {
	At   time.Duration
	Kind Kind
	// Version is for Flip and Recreate.
	Version string
	// Object, Server and Hold are for writes: which object, through which server, and how long the request is under
	// way once the server has decided how to encode it.
	Object string
	Server int
	Hold   time.Duration
	// For is how long a fault lasts.
	For time.Duration
	// Back and Bumped are for Restore.
	Back   time.Duration
	Bumped bool
	// Emptied is for Orphan.
	Emptied bool
}

// end is when the last event and the last kill are over.
func (s Schedule) end() (end time.Duration) {
	for _, e := range s.Events {
		end = max(end, e.At+e.Hold+e.For)
	}
	for _, p := range s.Processes {
		end = max(end, p.From+p.For)
	}
	return end
}
