// Package conformance compares what pure packages say with what a real API server does: how objects are converted and stored,
// which objects it takes, whose fields are whose, and what the next sync of a tool does with the opt-in label. The pure packages
// start no server, so that their own tests take no time; test/rooms holds them to it. The package admission below does the same
// for the policies in policies/admission.
package conformance

import (
	"testing"

	"github.com/moult-dev/moult/test/controlplane"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) { controlplane.Run(m, &cp) }
