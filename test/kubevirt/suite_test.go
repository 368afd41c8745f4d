package kubevirt

import (
	"testing"

	"github.com/moult-dev/moult/test/controlplane"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) { controlplane.Run(m, &cp) }
