package faults_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/moult-dev/moult/test/controlplane"
)

var (
	settleFlag = flag.Duration("faults.settle", 0, "The settle time that controllers are given, in place of the one that suits the fault. 1ns shows what it is for: the tests must fail.")
	killsFlag  = flag.Int("faults.kills", 5, "At how many points the controller is killed.")
	eachFlag   = flag.Bool("faults.each", false, "Each fault once that takes no minutes, not only the kills.")
	fullFlag   = flag.Bool("faults.full", false, "Also the faults that take minutes, and each with the gate asked before and after.")
	seedFlag   = flag.Uint64("faults.seed", 1, "Decides what is hit where there is a choice; 0 is another one each time.")
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	flag.Parse()
	if *seedFlag == 0 {
		*seedFlag = uint64(time.Now().UnixNano())
	}
	// The tests mostly wait: for settle times, pauses, leases. More of them than cores do no harm.
	if flag.Lookup("test.parallel").Value.String() == flag.Lookup("test.parallel").DefValue {
		_ = flag.Set("test.parallel", "6")
	}
	log.SetLogger(logr.Discard())
	if os.Getenv("MOULT_TEST_LOG") != "" {
		log.SetLogger(zap.New(zap.UseDevMode(true)))
	}
	controlplane.Run(m, &cp, controlplane.Own("API servers are killed and paused"))
}

const (
	// shortly is a settle time for API servers that are known not to lag.
	shortly = 1500 * time.Millisecond
	// soon is how long a step may take on a busy machine.
	soon = 90 * time.Second
)

// settle is the settle time for controllers: what suits the fault, unless the flag says otherwise.
func settle(suits time.Duration) time.Duration {
	if *settleFlag != 0 {
		return *settleFlag
	}
	return suits
}
