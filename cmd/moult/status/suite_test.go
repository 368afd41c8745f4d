package status

import (
	"testing"

	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/cmd/moult/migrate"
	"github.com/moult-dev/moult/test/controlplane"
)

var (
	cp    *controlplane.ControlPlane
	moult = clitest.Moult{NewCommand, NewWaitCommand, migrate.NewCommand}
	suite = clitest.Suite{Moult: moult, ControlPlane: &cp}
)

func TestMain(m *testing.M) { clitest.Main(m, &cp) }
