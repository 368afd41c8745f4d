package simulation

import (
	"fmt"
	"strings"
	"time"
)

// String tells the schedule; what comes of it is the play's story. What is not worth mentioning is left out.
func (s Schedule) String() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%d objects stored at v1alpha1\n", s.Objects)
	for i, server := range s.Servers {
		if server.Lag > 0 || len(s.Servers) > 1 {
			fmt.Fprintf(b, "server %d goes by a changed CRD %s late\n", i, server.Lag)
		}
	}
	for _, r := range s.Routes {
		fmt.Fprintf(b, "%s\n", r)
	}
	for i, p := range s.Processes {
		fmt.Fprintf(b, "process %d of Moult %s\n", i, p)
	}
	for _, e := range s.Events {
		fmt.Fprintf(b, "%s: %s\n", e.At, e)
	}
	return b.String()
}

func (r Route) String() string {
	says := fmt.Sprintf("Moult's requests may go to server %d", r.Server)
	for _, part := range []struct {
		is   bool
		says string
	}{
		{r.Hold > 0, fmt.Sprintf(", be committed %s after they are decided", r.Hold)},
		{r.Report > 0, fmt.Sprintf(", take %s if they are to the CRD's status", r.Report)},
		{r.Age > 0, fmt.Sprintf(", list what is %s old", r.Age)},
		{r.Expires, ", find that a list has expired"},
	} {
		if part.is {
			says += part.says
		}
	}
	return says
}

func (p Process) String() string {
	says := fmt.Sprintf("starts at %s", p.From)
	if p.For > 0 {
		says += fmt.Sprintf(", is killed at %s", p.From+p.For)
	}
	if p.Sight > 0 {
		says += fmt.Sprintf(", sees changes of the CRD %s late", p.Sight)
	}
	if p.Skew != 0 {
		says += fmt.Sprintf(", its clock off by %s", p.Skew)
	}
	return says
}

// String says what an event is, without its time.
func (e Event) String() string {
	switch e.Kind {
	case Flip:
		return "the storage version is set to " + e.Version
	case Edit:
		return "somebody edits the CRD's spec and leaves its storage version alone"
	case Trick:
		return "somebody sets storedVersions to the storage version alone"
	case Doubt:
		return "somebody puts v1alpha1 back into storedVersions"
	case Recreate:
		return "the CRD is deleted and made anew, stored at " + e.Version
	case Blind:
		return fmt.Sprintf("Moult's watches are interrupted for %s", e.For)
	case Down:
		return fmt.Sprintf("server %d answers nothing to Moult for %s", e.Server, e.For)
	case Lose:
		return fmt.Sprintf("server %d's answers to Moult are lost for %s", e.Server, e.For)
	case Restore:
		says := fmt.Sprintf("etcd is restored to what it held %s ago", e.Back)
		if e.Bumped {
			says += ", with later revisions"
		}
		return says
	case Orphan:
		says := fmt.Sprintf("the Namespace of some objects is gone for %s", e.For)
		if e.Emptied {
			says = fmt.Sprintf("the Namespace of some objects is gone; they are deleted %s later", e.For)
		}
		return says
	case DeleteAll:
		return fmt.Sprintf("a client's %s begins on server %d, to be over %s later", e.Kind, e.Server, e.Hold)
	case Update, Put, Touch, Delete:
		says := fmt.Sprintf("a client's %s of %s begins on server %d", e.Kind, e.Object, e.Server)
		if e.Hold > 0 {
			says += fmt.Sprintf(", to be committed %s later", e.Hold)
		}
		return says
	}
	return string(e.Kind)
}

// ago tells when a request was decided, unless that is the same moment.
func (w *world) ago(decided time.Time) string {
	if time.Since(decided) < tick {
		return ""
	}
	return fmt.Sprintf(", decided at %.3fs", decided.Sub(w.began).Seconds())
}
