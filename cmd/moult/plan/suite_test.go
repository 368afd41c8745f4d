package plan

import (
	"testing"

	"github.com/moult-dev/moult/cmd/moult/backup"
	"github.com/moult-dev/moult/cmd/moult/bridge"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/cmd/moult/rehearse"
	"github.com/moult-dev/moult/test/controlplane"
)

var (
	cp    *controlplane.ControlPlane
	suite = clitest.Suite{Moult: clitest.Moult{NewCommand, bridge.NewCommand, rehearse.NewCommand, backup.NewCommand}, ControlPlane: &cp}
)

func TestMain(m *testing.M) { clitest.Main(m, &cp) }
