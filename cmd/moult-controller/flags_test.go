package main

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"github.com/moult-dev/moult/test/reference"
)

func TestFlagsThatCannotBeMeantAreRefusedByName(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a flag that there is not":   {[]string{"--nope"}, "unknown flag: --nope"},
		"an argument":                {[]string{"widgets"}, `unexpected argument "widgets"`},
		"no label's key":             {[]string{"--label-key", "a/b/c"}, `--label-key "a/b/c" cannot be a label's key; write it like moult.dev/migrate`},
		"no label's key at all":      {[]string{"--label-key", ""}, "--label-key is empty"},
		"no API group":               {[]string{"--crd-groups", "example.com,Foo_"}, `--crd-groups names "Foo_"`},
		"no settle time":             {[]string{"--settle", "0s"}, "--settle is 0s; it must be longer than 0"},
		"no write in flight":         {[]string{"--max-in-flight", "0"}, "--max-in-flight is 0; at least 1"},
		"an interval into the past":  {[]string{"--survey-interval", "-1m"}, "--survey-interval is -1m0s; it must be longer than 0, for example 10m"},
		"a level of no logger":       {[]string{"--log-level", "loud"}, `--log-level "loud" is none of trace, debug, info, error`},
		"an encoding of no logger":   {[]string{"--log-encoding", "yaml"}, `--log-encoding "yaml" is none of json, console`},
		"no namespace":               {[]string{"--gate-namespaces", "Team A"}, `--gate-namespaces names "Team A"`},
		"an address without a port":  {[]string{"--metrics-addr", "localhost"}, `--metrics-addr "localhost" cannot be listened on; write it like :8080`},
		"a lease that lies nowhere":  {[]string{"--enable-leader-election", "--leader-election-namespace="}, "--enable-leader-election needs --leader-election-namespace"},
		"a duration without a unit":  {[]string{"--settle", "60"}, `"--settle" flag`},
		"an interval that is no one": {[]string{"--survey-interval", "often"}, `"--survey-interval" flag`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := parse(c.args)
			g.Expect(err).To(MatchError(And(ContainSubstring(c.want), ContainSubstring("see moult-controller --help"))))
			g.Expect(err).To(MatchError(errUsage), "so that the exit code is 2")
		})
	}
}

func TestTheDefaultsOfAllFlagsAreAccepted(t *testing.T) {
	_, err := parse(nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

// Those of Flux' packages for logging and leader election are described by --help alone.
func TestTheReferenceHasEveryFlagWithItsDefault(t *testing.T) {
	g := NewWithT(t)
	rows, err := reference.Table("The controller's flags")
	g.Expect(err).NotTo(HaveOccurred())
	inTable := map[string]string{}
	for name, row := range rows {
		inTable[strings.TrimPrefix(name, "--")] = strings.ReplaceAll(row[0], "`", "")
	}
	empty := map[string][]string{"": {"–", "all"}, "[]": {"all", "none"}, "0": {"none"}, "false": {"off"}}
	flagSet(&flags{}).VisitAll(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Name, "log-") || strings.HasPrefix(f.Name, "leader-election-") || f.Name == "version" {
			return
		}
		g.Expect(inTable).To(HaveKey(f.Name))
		g.Expect(append(empty[f.DefValue], f.DefValue)).To(ContainElement(inTable[f.Name]), f.Name)
		delete(inTable, f.Name)
	})
	g.Expect(inTable).To(BeEmpty(), "flags that there are not")
}
