package preview

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/crddiff/refusal"
	"github.com/moult-dev/moult/policies/finding"
)

const (
	// CRDRefused: the API server refuses the CRD as it is to be, and with it the sync that brings it.
	CRDRefused = "CRDRefused"
	// CRDRefusedBefore: the API server would refuse the CRD, and would have refused it before the pull request for the same
	// reason.
	CRDRefusedBefore = "CRDRefusedBefore"
)

// mostRefusals are as many as a person fixes before looking again; an error near the root of a schema repeats below it.
const mostRefusals = 10

// validated remembers what was asked about: clusters that get the same CRD are the rule, and the rules in CEL take time.
type validated struct{ known sync.Map }

// refused finds the CRDs that the API server would refuse, among those that differ: it has taken all others already.
func (v *validated) refused(d Delivered) []finding.Finding {
	differ := slices.DeleteFunc(slices.Clone(d.Head.CRDs), func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		base := d.Base.crd(crd.Name)
		return base != nil && refusal.Same(base, crd) && slices.Equal(d.Base.Undeclared[crd.Name], d.Head.Undeclared[crd.Name])
	})
	answers := make([][]refusal.Refusal, len(differ))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, crd := range differ {
		group.Go(func() error {
			base := d.Base.crd(crd.Name)
			undeclared := refusal.Undeclared(base, crd, d.Base.Undeclared[crd.Name], d.Head.Undeclared[crd.Name])
			answers[i] = slices.Concat(undeclared, v.of(base, crd))
			return nil
		})
	}
	_ = group.Wait() // none fails
	var found []finding.Finding
	for i, crd := range differ {
		found = append(found, d.refusals(crd, answers[i])...)
	}
	return found
}

func (v *validated) of(base, head *apiextensionsv1.CustomResourceDefinition) []refusal.Refusal {
	key := [2]string{text(base), text(head)}
	if known, ok := v.known.Load(key); ok {
		found, _ := known.([]refusal.Refusal)
		return found
	}
	found := refusal.Of(base, head)
	v.known.Store(key, found)
	return found
}

// text is a CRD as a key; nil is a CRD, too.
func text(crd *apiextensionsv1.CustomResourceDefinition) string {
	content, err := json.Marshal(crd)
	if err != nil {
		return fmt.Sprintf("%p", crd) // then it is remembered for no other caller
	}
	return string(content)
}

func (d Delivered) refusals(crd *apiextensionsv1.CustomResourceDefinition, refusals []refusal.Refusal) []finding.Finding {
	var found []finding.Finding
	for _, known := range []bool{false, true} {
		n := 0
		for _, r := range refusals {
			if r.Known != known {
				continue
			}
			if n++; n <= mostRefusals {
				found = append(found, d.refusal(crd.Name, r))
			}
		}
		if beyond := n - mostRefusals; beyond > 0 {
			last := found[len(found)-1]
			last.Why = fmt.Sprintf("the API server has %d more objections to the CRD; only the first are listed", beyond)
			found = append(found, last)
		}
	}
	return found
}

func (d Delivered) refusal(crd string, r refusal.Refusal) finding.Finding {
	f := finding.Finding{
		Rule: CRDRefused, Severity: finding.Error, CRD: crd, Cluster: d.Name, Place: d.place(crd),
		Why:         fmt.Sprintf("the API server refuses the CRD: %s: %s", where(r), r.Said),
		Remediation: "fix the CRD; `kubectl apply --dry-run=server` asks an API server itself",
	}
	if r.Known {
		f.Rule, f.Severity = CRDRefusedBefore, finding.Warning
		f.Why = fmt.Sprintf("the CRD had this fault before the pull request, and a current API server refuses it: %s: %s", where(r), r.Said)
		f.Remediation = "see with `kubectl apply --dry-run=server` whether the cluster's API server accepts it"
	}
	return f
}

// where is the path, and the version that it leads into, since no person counts versions.
func where(r refusal.Refusal) string {
	path := "`" + r.Path + "`"
	if r.Version == "" {
		return path
	}
	return fmt.Sprintf("%s (%s)", path, r.Version)
}

// namesRefused finds CRDs that are called wrongly: they look new, and the right ones gone.
func namesRefused(d Delivered) []finding.Finding {
	var found []finding.Finding
	for _, crd := range d.Head.CRDs {
		if right := crd.Spec.Names.Plural + "." + crd.Spec.Group; crd.Name != right {
			found = append(found, finding.Finding{
				Rule: NameRefused, Severity: finding.Error, CRD: crd.Name, Cluster: d.Name, Place: d.place(crd.Name),
				Why: fmt.Sprintf("the API server refuses it: a CRD is called by its plural and its group, %s", right), Remediation: "call it " + right,
			})
		}
	}
	return found
}
