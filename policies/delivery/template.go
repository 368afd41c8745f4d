package delivery

// Template is a file of a chart that makes CRDs.
type Template struct {
	// Name is the path from the root of the repository, and By stands for the file.
	Name string
	By   *Object
	// Text stands for what the file says, and for the named templates that it takes in; Made for the CRDs that it makes of the
	// chart's own values.
	Text, Made string
}

// Unseen is the template as something that brings what is not seen.
func (t Template) Unseen() Unseen {
	return Unseen{Name: t.Name, By: t.By, Why: "what changes in the text of this template is not seen in the CRDs that it makes of the chart's own values, and other values may show it", Fingerprint: t.Text}
}
