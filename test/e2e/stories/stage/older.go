package stage

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/test/e2e/story"
	"github.com/moult-dev/moult/test/e2e/tools"
)

// OlderRelease is a release of a chart that lacks the version which is stored now.
type OlderRelease struct{ Chart, Version string }

// BridgeBack runs what docs/guides/roll-back.md has between the two releases, while no tool applies the chart. Afterwards all
// objects are stored at the old version again. The chart's release and its namespace have the chart's name.
func (v *Vendor) BridgeBack(t *testing.T, s *story.Story, charts string, older OlderRelease) {
	t.Helper()
	g, before := NewWithT(t), v.Stored(t)
	guide := OpenGuide(t, "guides/roll-back.md", map[string]*rest.Config{"production": v.stage.Config})
	helm, err := tools.Helm()
	g.Expect(err).NotTo(HaveOccurred())
	run := func(line string) {
		s.Say("$ %s\n%s", line, guide.MustRun(`PATH="`+filepath.Dir(helm.Binary)+`:$PATH"; `+line))
	}
	run("helm repo add vendor " + charts)
	guide.write("values.yaml", "installCRDs: true\n")
	for line := range strings.Lines(strings.NewReplacer("RELEASE", older.Chart, "REPOSITORY/CHART", "vendor/"+older.Chart,
		"NAMESPACE", older.Chart, "OLDER", older.Version, "VALUES", "values.yaml").Replace(guide.Block("sh", "helm template RELEASE"))) {
		run(strings.TrimSpace(line))
	}
	run("moult wait " + v.resource.String() + " --for migrated --timeout 2m")
	g.Expect(v.Stored(t)).To(Equal(map[string]int{v.old: before[NewVersion]}))
	run(strings.NewReplacer("CRD", v.resource.String(), "NEW", NewVersion).Replace(guide.Line("moult survivors CRD --version NEW")))
}

// Edit replaces texts, in pairs, in a file of the page's repository.
func (d *Guide) Edit(name string, replaced ...string) {
	d.t.Helper()
	name = "gitops/" + name
	was := d.file(name)
	changed := strings.NewReplacer(replaced...).Replace(was)
	NewWithT(d.t).Expect(changed).NotTo(Equal(was), name)
	d.write(name, changed)
}
