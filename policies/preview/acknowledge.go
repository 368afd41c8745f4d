package preview

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/unpacking"
)

// AcknowledgementsFile is where a repository says what of the unknown it accepts, at its root.
const AcknowledgementsFile = ".moult.yaml"

// longest is how far ahead an acknowledgement may run out.
const longest = 366 * 24 * time.Hour

// Acknowledgement is a person's word that something unknown does not matter.
type Acknowledgement struct {
	// What is the object of a finding, such as HelmRelease apps/redis, or the name of a CRD; * stands for anything but a slash,
	// as in path.Match.
	What string `json:"what"`
	// Why is for the readers of the preview.
	Why string `json:"why"`
	// Until is the last day on which it holds, as 2026-12-31, at most a year ahead.
	Until string `json:"until"`
}

// Acknowledgements are those of a repository.
type Acknowledgements []Acknowledgement

// ReadAcknowledgements reads such a file strictly. An error says which entry is wrong, and how to write it.
func ReadAcknowledgements(content []byte, now time.Time) (Acknowledgements, error) {
	var file struct {
		Acknowledge Acknowledgements `json:"acknowledge"`
	}
	if err := unpacking.UnmarshalStrict(content, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", AcknowledgementsFile, err)
	}
	for i, a := range file.Acknowledge {
		if err := a.validate(now); err != nil {
			return nil, fmt.Errorf("%s: acknowledge[%d]: %w", AcknowledgementsFile, i, err)
		}
	}
	return file.Acknowledge, nil
}

func (a Acknowledgement) validate(now time.Time) error {
	_, badPattern := path.Match(a.What, "")
	end, badDate := a.end()
	switch {
	case a.What == "" || badPattern != nil:
		return fmt.Errorf("what: %q names nothing; write what the finding is about, such as HelmRelease apps/redis, or the name of a CRD", a.What)
	case a.Why == "":
		return errors.New("why is missing; say why it does not matter")
	case badDate != nil:
		return fmt.Errorf("until: %q is no day; write it like 2026-12-31", a.Until)
	case end.Sub(now) > longest:
		return fmt.Errorf("until: %s is more than a year ahead; choose an earlier day, so that somebody looks again", a.Until)
	}
	return nil
}

// end is when it ceases to hold: at the end of its last day.
func (a Acknowledgement) end() (time.Time, error) {
	day, err := time.Parse(time.DateOnly, a.Until)
	return day.Add(24 * time.Hour), err
}

// of finds what says that something does not matter; nil if nothing does any more.
func (all Acknowledgements) of(now time.Time, what string) *Acknowledgement {
	i := slices.IndexFunc(all, func(a Acknowledgement) bool { return a.holds(now) && a.means(what) })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func (a Acknowledgement) holds(now time.Time) bool {
	end, err := a.end()
	return err == nil && now.Before(end)
}

func (a Acknowledgement) means(what string) bool {
	matches, err := path.Match(a.What, what)
	return what != "" && err == nil && matches
}

// says is the person's word.
func (a Acknowledgement) says() string { return fmt.Sprintf("%s (until %s)", a.Why, a.Until) }

// acknowledge makes information of the findings that leave it unknown what happens and that somebody has acknowledged.
// Nothing else can be acknowledged: what is blocked is known.
func (in Input) acknowledge(found []finding.Finding) []finding.Finding {
	for i, f := range found {
		if verdictOfFinding(f) != Unknown {
			continue
		}
		if a := in.Acknowledgements.of(in.Now, f.Object); a != nil {
			found[i].Acknowledged, found[i].Severity, found[i].Remediation = a.says(), finding.Info, ""
			found[i].Why += "; acknowledged: " + a.says()
		} else if old := in.ranOut(f.Object); old != "" {
			found[i].Why += "; " + old
		}
	}
	return found
}

// ranOut says that something was acknowledged, and is not any more.
func (in Input) ranOut(what string) string {
	for _, a := range in.Acknowledgements {
		if a.means(what) {
			return fmt.Sprintf("it was acknowledged until %s (%s): look again, and set another day in %s", a.Until, a.Why, AcknowledgementsFile)
		}
	}
	return ""
}
