package rehearse

import (
	"fmt"
	"os"
	"testing"

	"github.com/moult-dev/moult/cmd/moult/backup"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/webhooks"
)

var (
	cp    *controlplane.ControlPlane
	suite = clitest.Suite{Moult: clitest.Moult{NewCommand, backup.NewCommand}, ControlPlane: &cp}
)

// program is set where this test is itself started as the webhook of a command.
const program = "MOULT_TEST_WEBHOOK"

func TestMain(m *testing.M) {
	if os.Getenv(program) == "" {
		clitest.Main(m, &cp)
	}
	hook := webhooks.NewHandler()
	hook.Change(remove("spec", "payload"))
	fmt.Println(hook.Serve())
}
