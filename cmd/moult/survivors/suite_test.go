package survivors

import (
	"testing"

	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/controlplane"
)

var (
	cp    *controlplane.ControlPlane
	suite = clitest.Suite{Moult: clitest.Moult{NewCommand}, ControlPlane: &cp}
)

func TestMain(m *testing.M) {
	clitest.Main(m, &cp, controlplane.Own("a look walks all objects of the cluster"))
}
