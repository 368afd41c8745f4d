// Package lua holds what Argo CD needs for Moult's objects: scripts in the layout of Argo CD's own
// resource_customizations. health.lua is for the verdicts, and actions are what a person may do from its interface.
// Beside each script lie its fixtures; health_test.yaml lists them, and test/lua puts them to the scripts, to the
// package health, to Flux' CEL and to kstatus.
//
// A script sees one object, obj, whose fields may be missing or of any type, and has one second and no string or math
// library. It must not raise and must return a known status: an error in it blocks the whole application, and no answer
// opens the gate.
//
// The folders clusters/components/argocd-* turn these files into entries of Argo CD's ConfigMap argocd-cm. Installing
// them is not optional: without its script Argo CD counts a VersionRemoval as healthy as soon as it exists.
package lua

import "embed"

// FS holds the scripts, by the paths they have here, for example
// moult.dev/VersionRemoval/health.lua.
//
//go:embed */*/health.lua */*/actions/*.lua */*/actions/*/action.lua
var FS embed.FS

// The keys of the ConfigMap argocd-cm.
const (
	// GateHealthKey makes a VersionRemoval a gate. Without it there is none.
	GateHealthKey = "resource.customizations.health.moult.dev_VersionRemoval"
	// GateActionsKey lets people retry, pause and resume from Argo CD.
	GateActionsKey = "resource.customizations.actions.moult.dev_VersionRemoval"
	// CRDHealthKey makes opted-in CRDs gates themselves. It replaces Argo CD's
	// built-in script for all CRDs, and is therefore optional.
	CRDHealthKey = "resource.customizations.health.apiextensions.k8s.io_CustomResourceDefinition"
)

var (
	//go:embed moult.dev/VersionRemoval/health.lua
	gateHealth string
	//go:embed moult.dev/VersionRemoval/actions/argocd-cm.yaml
	gateActions string
	//go:embed apiextensions.k8s.io/CustomResourceDefinition/health.lua
	crdHealth string
)

//go:generate go run ./generate

// ArgoCDConfig is what belongs into the data of the ConfigMap argocd-cm.
func ArgoCDConfig() map[string]string {
	return map[string]string{
		GateHealthKey:  gateHealth,
		GateActionsKey: gateActions,
		CRDHealthKey:   crdHealth,
	}
}
