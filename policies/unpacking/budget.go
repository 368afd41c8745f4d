// Package unpacking takes things out of their packing, base64, gzip, JSON and YAML, with a bound on the memory and the time that
// this takes. Objects in a cluster are written by anybody: a few kilobytes can stand for gigabytes. So each unpacker draws from a
// Budget before it allocates. Begin at Look: it is the budget of one look through a cluster, and each object gets one of its own.
// Where a budget is used up, the error is ErrTooLarge: what is packed there is not known. Files and manifests that others have
// written have no budget and a bound: Unmarshal and the functions beside it read them.
package unpacking

import "errors"

// ErrTooLarge says that something is larger than what is unpacked of one object.
var ErrTooLarge = errors.New("unpacked, it is larger than what is looked at")

// ErrUsedUp says that objects before this one have used up what one look may unpack.
var ErrUsedUp = errors.New("it is not unpacked, since large objects before it have used up what one look unpacks")

// The sizes are of memory, as it is reckoned here, in bytes. The controller's container has 256 MiB. A Helm release of the 1 MiB that
// a Secret may have takes about 40 MiB at a time and 160 MiB in all.
const (
	// mostHeld is what may be held of one object at a time.
	mostHeld = 64 << 20
	// mostAside is what may be held of an object that takes no room of its process for it.
	mostAside = 4 << 20
	// mostOfObject is what may be unpacked of one object in all, one part after the other.
	mostOfObject = 256 << 20
	// ordinary is what an object may have unpacked without drawing from what the whole look may, and ordinaryTimes how many times as much
	// as it takes itself. Beside little that is packed, less is ordinary: there may be thousands of such objects.
	ordinary      = 64 << 20
	ordinaryTimes = 200
	// mostOfLook is what objects may have unpacked beyond that, all together. It takes minutes.
	mostOfLook = 16 << 30
)

// Look is what one look through a cluster may unpack. It is for one goroutine.
type Look struct{ left int64 }

// NewLook begins one.
func NewLook() *Look { return &Look{left: mostOfLook} }

// Object is the budget of the next object, which takes so many bytes itself (SizeOf).
func (l *Look) Object(size int64) *Budget {
	return &Budget{look: l, left: mostOfObject, free: min(ordinary, ordinaryTimes*size)}
}

// Aside is the budget of the next object for which its process has no room yet. What it refuses may fit in an Object.
func (l *Look) Aside(size int64) *Budget {
	b := l.Object(size)
	b.reserved = mostHeld - mostAside
	return b
}

// One is the budget of an object that is no part of a look.
func One() *Budget { return NewLook().Object(ordinary) }

// Budget is what may be unpacked of one object.
type Budget struct {
	look *Look
	// held is what is unpacked now, kept what stays until the object is done with, and left what may still be unpacked.
	held, kept, left int64
	// free is what may still be unpacked without drawing from the look.
	free int64
	// reserved is what of mostHeld is not to be had.
	reserved  int64
	isRefused bool
}

// IsRefused reports whether something was not to be had of the budget.
func (b *Budget) IsRefused() bool { return b.isRefused }

func (b *Budget) refuse(err error) error {
	b.isRefused = true
	return err
}

// Hold draws what is about to be allocated, and is held until it is let go of.
func (b *Budget) Hold(bytes int64) error {
	if b.held+b.kept+bytes > mostHeld-b.reserved {
		return b.refuse(ErrTooLarge)
	}
	b.held += bytes
	return b.Work(bytes)
}

// Keep draws what is about to be allocated, and stays until the object is done with.
func (b *Budget) Keep(bytes int64) error {
	if b.held+b.kept+bytes > mostHeld-b.reserved {
		return b.refuse(ErrTooLarge)
	}
	b.kept += bytes
	return nil
}

// Work draws what is about to be read, and not held.
func (b *Budget) Work(bytes int64) error {
	if b.left < bytes {
		b.left = 0
		return b.refuse(ErrTooLarge)
	}
	b.left -= bytes
	beyond := max(0, bytes-b.free)
	b.free -= bytes - beyond
	if b.look.left < beyond {
		b.left = 0
		return b.refuse(ErrUsedUp)
	}
	b.look.left -= beyond
	return nil
}

// Mark remembers what is held. The function that it returns is called when all that was unpacked since is let go of.
func (b *Budget) Mark() (release func()) {
	held := b.held
	return func() { b.held = held }
}
