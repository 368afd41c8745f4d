package progress

import (
	"fmt"
	"io"
	"sync"

	"github.com/moult-dev/moult/clusters/inspect"
)

// Objects reports how far long lists of objects are read.
type Objects struct {
	out  io.Writer
	lock sync.Mutex       // several clusters may be read at a time
	told map[string]int64 // tenths
}

// NewObjects reports it in lines.
func NewObjects(out io.Writer) *Objects { return &Objects{out: out, told: map[string]int64{}} }

// Tell says nothing of lists that fit on one page.
func (o *Objects) Tell(p inspect.Progress) {
	if p.Total <= 0 {
		return
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	tenth := 10 * p.Done / p.Total
	before, known := o.told[p.CRD]
	if !known && tenth == 10 || known && tenth <= before {
		return
	}
	o.told[p.CRD] = tenth
	fmt.Fprintf(o.out, "%s  read %d of %d objects\n", p.CRD, p.Done, p.Total)
}
