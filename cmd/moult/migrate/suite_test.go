package migrate

import (
	"testing"

	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/cmd/moult/status"
	"github.com/moult-dev/moult/test/controlplane"
)

var (
	cp    *controlplane.ControlPlane
	moult = clitest.Moult{NewCommand, status.NewCommand}
	suite = clitest.Suite{Moult: moult, ControlPlane: &cp}
)

func TestMain(m *testing.M) {
	clitest.Main(m, &cp, controlplane.Own("admission policies that a test installs are in force for all CRDs"))
}
