package doctor

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/doctor"
	"github.com/moult-dev/moult/policies/finding"
)

func TestTheDoctorFailsOnWhatItIsAskedToFailOn(t *testing.T) {
	severe := func(s finding.Severity) doctor.Result {
		return doctor.Result{Findings: []finding.Finding{{Severity: s}}}
	}
	notAsked := doctor.Result{Outcome: doctor.NotRun, NotAsked: true}
	notRun, notSeen := doctor.Result{Outcome: doctor.NotRun}, doctor.Result{Outcome: doctor.Passed, NotSeen: []string{"a"}}
	for name, c := range map[string]struct {
		checks                   []doctor.Result
		onError, unknown, onWarn int
	}{
		"all is well":              {[]doctor.Result{severe(finding.Info), notAsked}, 0, 0, 0},
		"a warning":                {[]doctor.Result{severe(finding.Warning), notAsked}, 0, 0, cli.ExitWarnings},
		"a check did not run":      {[]doctor.Result{notRun}, 0, cli.ExitUnknown, cli.ExitUnknown},
		"one did not see all":      {[]doctor.Result{notSeen, severe(finding.Warning)}, 0, cli.ExitUnknown, cli.ExitUnknown},
		"an error counts the most": {[]doctor.Result{notRun, severe(finding.Warning), severe(finding.Error)}, 1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for value, want := range map[string]int{"error": c.onError, cli.FailOnUnknown: c.unknown, cli.FailOnWarning: c.onWarn} {
				d := &command{failOn: cli.FailOn{Value: value}}
				err := d.verdictOf(doctor.Report{Checks: c.checks})
				code, ended := 0, cli.Ended{}
				switch {
				case errors.As(err, &ended):
					code = ended.Code
				case err != nil:
					g.Expect(err).To(BeAssignableToTypeOf(cli.NotDone{}))
					code = cli.ExitNotDone
				}
				g.Expect(code).To(Equal(want), value)
			}
		})
	}
}
