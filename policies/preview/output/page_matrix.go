package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/preview"
)

// matrix has a row for each version that leaves, and for each CRD that loses none, and a column for each cluster.
type matrix struct {
	Columns []column
	Rows    []matrixRow
}

type column struct{ Name, Source, Taken string }

type matrixRow struct {
	CRD, Anchor, Version string
	Cells                []matrixCell
}

// matrixCell is a verdict and the evidence for it.
type matrixCell struct {
	badge
	Cluster string
	// Sentence is all of the reasons in one line.
	Sentence string
	Reasons  []prose
	ToDo     []prose
	Facts    []fact
	Open     bool
}

func (c matrixCell) grave() bool { return c.Class == "blocked" || c.Class == "unknown" }

type fact struct{ Name, Value string }

// openCells is up to how many cells are unfolded from the beginning: all of them, or else the grave ones.
const openCells = 4

func newMatrix(r preview.Report) matrix {
	m := matrix{}
	names := columns(r)
	for _, name := range names {
		m.Columns = append(m.Columns, newColumn(r, name))
	}
	grave := 0
	for i, crd := range gravestFirst(r) {
		leaving := crd.Removed
		if len(leaving) == 0 {
			leaving = []string{""}
		}
		for _, version := range leaving {
			line := matrixRow{CRD: plain(crd.Name), Anchor: anchor(i), Version: plain(version)}
			for _, name := range names {
				c := newCell(r, crd, name)
				if c.grave() {
					grave++
				}
				line.Cells = append(line.Cells, c)
			}
			m.Rows = append(m.Rows, line)
		}
	}
	for _, line := range m.Rows {
		for i, c := range line.Cells {
			line.Cells[i].Open = len(m.Rows)*len(names) <= openCells || grave <= openCells && c.grave()
		}
	}
	return m
}

func anchor(i int) string { return fmt.Sprintf("crd-%d", i+1) }

func newColumn(r preview.Report, name string) column {
	c := column{Name: clusterName(name), Source: "nothing is known about it"}
	for _, cluster := range r.Clusters {
		if cluster.Name == name && cluster.Source != "" {
			c.Source = plain(cluster.Source)
			if cluster.TakenAt != nil {
				c.Taken = cluster.TakenAt.UTC().Format("2006-01-02 15:04 UTC")
			}
		}
	}
	return c
}

func newCell(r preview.Report, crd preview.ChangedCRD, cluster string) matrixCell {
	i := slices.IndexFunc(crd.Clusters, func(in preview.InCluster) bool { return in.Cluster == cluster })
	if i < 0 {
		return matrixCell{badge: badge{Mark: "·", Word: "not delivered", Class: "none"}, Cluster: clusterName(cluster), Sentence: "this cluster does not get the CRD"}
	}
	in := crd.Clusters[i]
	reasons := inTheWay(in)
	return matrixCell{
		badge: badgeOfVerdict(in.Verdict), Cluster: clusterName(cluster), Sentence: strings.Join(reasons, "; "),
		Reasons: prosesOf(reasons), ToDo: prosesOf(toDo(r, crd, in)), Facts: facts(in),
	}
}

// facts are what the cluster said.
func facts(in preview.InCluster) []fact {
	var all []fact
	if reason := plain(in.Reason); reason != "" {
		all = append(all, fact{"Reason", reason})
	}
	if len(in.StoredVersions) > 0 {
		all = append(all, fact{"storedVersions", versions(in.StoredVersions)})
	}
	if in.Objects != nil {
		proved := ", not proved"
		if in.Proved {
			proved = ", all proved"
		}
		all = append(all, fact{"Objects", grouped(*in.Objects) + proved})
	}
	if in.Gate != "" {
		all = append(all, fact{"Gate", gate(in)})
	}
	return all
}
