package chart

import (
	"testing"

	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	running.Quiet()
	controlplane.Run(m, &cp, controlplane.Own("Moult is installed and uninstalled"))
}
