package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// options are the flags. Their exported fields are told in the JSON.
type options struct {
	Only       []string
	RTT        []int // milliseconds
	Rounds     int
	Objects    int
	Size       int // bytes of a stored object
	Settle     time.Duration
	Quiet      time.Duration
	OneByOne   time.Duration // a run of those that have one request under way
	Workers    int           // of the ceiling; 0: search
	LagRuns    int
	LagObjects int
	MoultFlags []string
	// Beside are other builds of moult-controller, by the name they get in the table.
	Beside map[string]string `json:",omitempty"`

	Moult, ControllerManager string // binaries
	json                     string
	short                    bool

	// of the other modes
	At          []int         `json:",omitempty"` // objects
	CRDs        int           `json:",omitempty"`
	CRDSize     int           `json:",omitempty"` // bytes
	ServerLimit int64         `json:",omitempty"` // bytes
	Idle        time.Duration `json:",omitempty"`
	KillAt      float64       `json:",omitempty"`
	Gates       int           `json:",omitempty"`
	Managers    []int         `json:",omitempty"`
	Resources   int           `json:",omitempty"`
	Large       int           `json:",omitempty"` // bytes
}

// short is what `make bench ARGS=--short` runs: the whole table, smaller.
func (o *options) shorten(fs *pflag.FlagSet) {
	for name, set := range map[string]func(){
		"objects":    func() { o.Objects = 1500 },
		"rtt":        func() { o.RTT = []int{0, 5} },
		"rounds":     func() { o.Rounds = 1 },
		"one-by-one": func() { o.OneByOne = 5 * time.Second },
		"settle":     func() { o.Settle = 5 * time.Second },
		"lag-runs":   func() { o.LagRuns = 1 },
	} {
		if !fs.Changed(name) {
			set()
		}
	}
}

func parse(mode string, args []string) (*options, error) {
	o := &options{}
	fs := pflag.NewFlagSet("bench "+mode, pflag.ContinueOnError)
	fs.IntVar(&o.Size, "size", 3480, "Bytes of a stored object.")
	fs.StringVar(&o.Moult, "moult", "", "The moult-controller to run. Default: built from this repository.")
	fs.StringSliceVar(&o.MoultFlags, "moult-flag", nil, "More flags for moult-controller.")
	fs.StringVar(&o.json, "json", "", "File to write all results to.")
	switch mode {
	case "table", "lag":
		bindTable(fs, o)
	case "memory":
		bindMemory(fs, o)
	case "restart":
		bindRestart(fs, o)
	case "gates":
		bindGates(fs, o)
	case "managers":
		bindManagers(fs, o)
	case "survivors":
		bindSurvivors(fs, o)
	}
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if o.short {
		o.shorten(fs)
	}
	return o, o.validate(fs)
}

func bindTable(fs *pflag.FlagSet, o *options) {
	fs.BoolVar(&o.short, "short", false, "Fewer objects, delays and rounds: five minutes.")
	fs.StringToStringVar(&o.Beside, "beside", nil, "Other builds of moult-controller to run in the same rounds, as name=file: what a change has brought is their ratio.")
	fs.StringSliceVar(&o.Only, "only", contenderNames(), "Contenders to run.")
	fs.IntSliceVar(&o.RTT, "rtt", []int{0, 5, 20}, "Extra round-trip times in milliseconds.")
	fs.IntVar(&o.Rounds, "rounds", 3, "Rounds, each in another order.")
	fs.IntVar(&o.Objects, "objects", 5000, "Objects to migrate.")
	fs.DurationVar(&o.OneByOne, "one-by-one", 6*time.Second, "About how long those take that have one request under way; they get fewer objects at a long round-trip time.")
	fs.DurationVar(&o.Settle, "settle", 6*time.Second, "Settle time of moult-controller, which waits with its check for it. An API server stands still for 3 s.")
	fs.DurationVar(&o.Quiet, "quiet", 2*time.Second, "How long nothing is migrated before each run.")
	fs.IntVar(&o.Workers, "ceiling", 0, "Patches at once of the ceiling. Default: what is found to be best.")
	fs.IntVar(&o.LagRuns, "lag-runs", 3, "Runs with an API server that stands still for 3 s, of those that trim.")
	fs.IntVar(&o.LagObjects, "lag-objects", 200, "Objects of such a run.")
	fs.StringVar(&o.ControllerManager, "controller-manager", "", "The kube-controller-manager to run. Default: the one that `make kube-controller-manager` has built.")
}

func bindMemory(fs *pflag.FlagSet, o *options) {
	fs.IntSliceVar(&o.At, "at", []int{1000, 50000}, "Numbers of objects to migrate, one after the other; 0: none.")
	fs.IntVar(&o.CRDs, "crds", 1000, "CRDs that have opted in and have nothing to migrate; 0: none.")
	fs.IntVar(&o.CRDSize, "crd-size", 200<<10, "Bytes of each such CRD.")
	fs.DurationVar(&o.Settle, "settle", 5*time.Second, "Settle time of moult-controller.")
	fs.Int64Var(&o.ServerLimit, "server-limit", 18<<30, "Bytes of memory at which the API server has enough CRDs.")
	fs.DurationVar(&o.Idle, "idle", time.Minute, "How long it is watched while it has nothing to do.")
}

func bindRestart(fs *pflag.FlagSet, o *options) {
	fs.IntVar(&o.Objects, "objects", 5000, "Objects to migrate.")
	fs.Float64Var(&o.KillAt, "kill-at", 0.5, "Share of the objects after which moult-controller is killed.")
	fs.DurationVar(&o.Settle, "settle", 5*time.Second, "Settle time of moult-controller.")
}

func bindGates(fs *pflag.FlagSet, o *options) {
	fs.IntVar(&o.Gates, "gates", 3000, "VersionRemovals of the other namespace.")
	fs.IntVar(&o.Objects, "objects", 200, "Objects of the CRD that all of them name.")
	fs.DurationVar(&o.Settle, "settle", time.Second, "Settle time of moult-controller.")
}

func bindManagers(fs *pflag.FlagSet, o *options) {
	fs.IntSliceVar(&o.Managers, "managers", []int{1, 30, 120}, "Numbers of field managers of an object, one after the other.")
	fs.IntVar(&o.Objects, "objects", 50, "Objects to migrate.")
	fs.DurationVar(&o.Settle, "settle", time.Second, "Settle time of moult-controller.")
}

func bindSurvivors(fs *pflag.FlagSet, o *options) {
	fs.StringSliceVar(&o.Only, "only", wayNames(), "Ways to look.")
	fs.IntVar(&o.Objects, "objects", 100000, "Objects to look through.")
	fs.IntVar(&o.Resources, "resources", 60, "CRDs that have most of them.")
	fs.IntVar(&o.Large, "large", 512<<10, "Bytes of 40 large objects that are read whole.")
	fs.IntVar(&o.Rounds, "rounds", 3, "Rounds, each in another order.")
	o.Settle = time.Second // nothing is migrated
}

func (o *options) validate(fs *pflag.FlagSet) error {
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; everything is set by flags, see --help", fs.Arg(0))
	}
	if o.Settle <= 0 || o.Size <= plain || o.Rounds < 0 || o.Objects < 0 {
		return errors.New("--settle, --rounds and --objects must be more than 0, and --size more than 650")
	}
	if fs.Lookup("resources") != nil && (o.Resources <= composites+1 || o.Objects < 100) {
		return fmt.Errorf("--resources must be more than %d, and --objects at least 100", composites+1)
	}
	return nil
}

// objectsFor is how many objects a contender gets at a round-trip time.
func (o *options) objectsFor(c *contender, roundTrip time.Duration) int {
	if c.variant { // its rate does not depend on their number either, and it has nothing else to show
		return o.Objects / 2
	}
	if c.roundTrips == 0 || roundTrip == 0 && c.trims { // those that trim are judged by all objects once
		return o.Objects
	}
	const atTheServer = 3 * time.Millisecond // per request
	perObject := time.Duration(c.roundTrips) * (roundTrip + atTheServer)
	fits := int(o.OneByOne/perObject) / 100 * 100
	return min(o.Objects, max(100, fits))
}

// patience is how long a pass may take before it is given up: 20 objects a second.
func patience(objects int) time.Duration {
	return 2*time.Minute + time.Duration(objects)*50*time.Millisecond
}
