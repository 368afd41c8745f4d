package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
)

func TestAnErrorIsAnExitCode(t *testing.T) {
	unknown := Ended{Code: ExitUnknown, Err: errors.New("not seen")}
	bad := NotDone{Sentence: "lost"}
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"none":                            {nil, ExitDone},
		"one without a code":              {errors.New("no such file"), ExitError},
		"bad news":                        {bad, ExitNotDone},
		"bad news in a sentence":          {fmt.Errorf("so: %w", bad), ExitNotDone},
		"a code of its own":               {fmt.Errorf("so: %w", unknown), ExitUnknown},
		"the prompt was declined":         {errNotAgreed, ExitError},
		"several, and none is one":        {Joined(nil, nil), ExitDone},
		"bad news and something unknown":  {Joined(unknown, nil, bad), ExitNotDone},
		"bad news, and one without":       {Joined(bad, errors.New("no space"), unknown), ExitError},
		"something unknown, and that all": {Joined(nil, unknown), ExitUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := &Factory{Name: "moult", ErrOut: &strings.Builder{}}
			g.Expect(f.exit(t.Context(), c.err)).To(Equal(c.want))
			interrupted, cancel := context.WithCancel(t.Context())
			cancel()
			if c.err != nil {
				g.Expect(f.exit(interrupted, c.err)).To(Equal(ExitInterrupted))
			}
		})
	}
}

func TestOfSeveralErrorsTheGravestCounts(t *testing.T) {
	g := NewWithT(t)
	f := &Factory{Name: "moult", ErrOut: &strings.Builder{}}
	bad, failed := NotDone{Sentence: "lost"}, errors.New("no such file")
	g.Expect(f.exit(t.Context(), f.TellAll([]error{bad, nil, failed, bad}))).To(Equal(ExitError))
	g.Expect(f.exit(t.Context(), f.TellAll([]error{Ended{Code: ExitNotDone, Err: failed}, nil}))).To(Equal(ExitNotDone))
}

func TestFailOnIsTheMildestResultThatFails(t *testing.T) {
	for value, want := range map[string]map[int]int{
		"blocked":     {ExitDone: 0, ExitWarnings: 0, ExitUnknown: 0, ExitNotDone: 1},
		FailOnUnknown: {ExitDone: 0, ExitWarnings: 0, ExitUnknown: 3, ExitNotDone: 1},
		FailOnWarning: {ExitDone: 0, ExitWarnings: 4, ExitUnknown: 3, ExitNotDone: 1},
	} {
		t.Run(value, func(t *testing.T) {
			g := NewWithT(t)
			c := &cobra.Command{}
			var o FailOn
			o.AddFlag(c, FailOnUnknown, "blocked", FailOnUnknown, FailOnWarning)
			g.Expect(c.ParseFlags([]string{"--fail-on", value})).To(Succeed())
			g.Expect(checkValues(c)).To(Succeed())
			g.Expect(o.IsDefault()).To(Equal(value == FailOnUnknown))
			for result, code := range want {
				g.Expect((&Factory{}).exit(t.Context(), o.Ending(result))).To(Equal(code), "%d", result)
			}
			g.Expect(c.ParseFlags([]string{"--fail-on", "error"})).To(Succeed())
			g.Expect(checkValues(c)).To(MatchError("--fail-on error is none of blocked, unknown, warning"))
		})
	}
}
