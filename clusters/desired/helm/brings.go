package helm

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/commands"
	"github.com/moult-dev/moult/clusters/desired/detect"
)

// Brings are the texts of the CRDs that a chart brings, whatever its values are. It is false if these decide about CRDs, or if something
// in the chart may install others.
func Brings(chart *charts.Chart) (crds []string, known bool) {
	for name, content := range chart.Files() {
		switch base := path.Base(name); {
		case path.Ext(base) == ".md" || base == "NOTES.txt" || strings.HasPrefix(base, "LICENSE"):
		case path.Ext(base) == ".tgz":
			packed, err := charts.Archive(content)
			if err != nil {
				return nil, false
			}
			inside, known := Brings(packed)
			if !known || packed.MayLack() && len(inside) > 0 {
				return nil, false
			}
			crds = append(crds, inside...)
		case inCRDs.MatchString(name):
			crds = append(crds, string(content))
		case !detect.CRD.Match(content) && !delivers.Match(content) && !detect.Tool.Match(content) && !detect.Installer.Match(content) && !runs(name, content):
		case !detect.CRD.Match(content) || detect.Tool.Match(content) || !inTemplates.MatchString(name) || strings.Contains(string(content), "{{"):
			return nil, false
		default: // Helm deletes what no longer is a template
			crds = append(crds, "template "+string(content))
		}
	}
	slices.Sort(crds)
	return crds, !chart.MayLack() || len(crds) == 0
}

var (
	inCRDs      = regexp.MustCompile(`^(?:charts/[^/]+/)*crds/`)
	inTemplates = regexp.MustCompile(`^(?:charts/[^/]+/)*templates/`)
	// delivers finds a kind of Argo CD, or one that a template fills in and that may be any.
	delivers = regexp.MustCompile(`kind["']?\s*:\s*["']?(?:Application|[^\s#"']*\{\{)`)
)

// runs reports whether a template has commands that may install something.
func runs(name string, content []byte) bool {
	return inTemplates.MatchString(name) && commands.In("object.yaml", content).About != ""
}
