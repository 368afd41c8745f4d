package delivery

// InChart is a CRD that a chart brings.
type InChart struct {
	// Dir is the folder of the chart from the root of the repository, and Chart is its name.
	Dir, Chart string
	// Values is the name of a file of values beside the chart's own that it is installed with, if there is one.
	Values string
	CRD    *Object
	How    Brought
}

// Name is the chart as a message names it, with the values.
func (c InChart) Name() string {
	if c.Values != "" {
		return c.Dir + " with " + c.Values
	}
	return c.Dir
}

// ChartUnit is the name of the unit of what a chart makes.
func ChartUnit(name string) string { return "chart " + name }

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
