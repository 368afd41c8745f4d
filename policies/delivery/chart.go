package delivery

// InChart is a CRD that a chart brings.
type InChart struct {
	// Dir is the folder of the chart from the root of the repository, and Chart is its name.
	Dir, Chart string
	CRD        *Object
	How        Brought
}

// Brought is how a chart brings a CRD, each closer to all who install the chart than the one before.
type Brought int

const (
	// AtInstall: it is in crds/, which Helm installs once, and neither upgrades nor deletes.
	AtInstall Brought = iota + 1
	// IfAsked: the templates make it of values that switch CRDs on.
	IfAsked
	// ByDefault: the templates make it of the chart's own values.
	ByDefault
)
