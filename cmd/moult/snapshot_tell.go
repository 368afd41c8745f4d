package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/policies/snapshot"
)

// takingBoard tells on standard error how far long lists of objects are read.
type takingBoard struct {
	out  io.Writer
	told map[string]int64 // tenths
}

func (a *app) newTakingBoard() *takingBoard {
	return &takingBoard{out: a.errOut, told: map[string]int64{}}
}

// tell says nothing of lists that fit on one page.
func (b *takingBoard) tell(p inspect.Progress) {
	if p.Total <= 0 {
		return
	}
	tenth := 10 * p.Done / p.Total
	before, known := b.told[p.CRD]
	if !known && tenth == 10 || known && tenth <= before {
		return
	}
	b.told[p.CRD] = tenth
	fmt.Fprintf(b.out, "%s  read %d of %d objects\n", p.CRD, p.Done, p.Total)
}

// tellTaken sums up on standard error, so that standard output stays the snapshot.
func (s *snapshotCommand) tellTaken(taken *snapshot.Snapshot) {
	objects, looked := int64(0), 0
	for _, crd := range taken.CRDs {
		if crd.Objects != nil {
			objects += crd.Objects.Count
			looked++
		}
	}
	where := ""
	if s.file != "" {
		where = " in " + s.file
	}
	fmt.Fprintf(s.errOut, "%s: %s, %s of %d of them, %s%s\n", taken.Cluster,
		count(len(taken.CRDs), "CRD"), count(int(objects), "object"), looked, count(len(taken.Removals), "VersionRemoval"), where)
	for _, name := range taken.Named {
		if !slices.ContainsFunc(taken.CRDs, func(c snapshot.CRD) bool { return c.Name == name }) && !slices.ContainsFunc(taken.NotRead, func(n snapshot.NotRead) bool { return n.CRD == name }) {
			fmt.Fprintf(s.errOut, "there is no CRD %s in the cluster, and the snapshot says so\n", name)
		}
	}
	for _, n := range taken.NotRead {
		fmt.Fprintf(s.errOut, "not read: %s\n", n.Why)
	}
}
