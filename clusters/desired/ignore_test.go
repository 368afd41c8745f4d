package desired_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// source-controller leaves files out, and what is built of the rest is what Flux applies.
func TestWhatFluxIgnoresIsNotApplied(t *testing.T) {
	repository := func(ignore string) files {
		return files{
			"entry/a.yaml": flux("a", "path: ./apps, sourceRef: {kind: GitRepository, name: g}") + gitRepository("g", "url: 'https://git/ours', ignore: '"+ignore+"'"),
			"apps/x.yaml":  crd("x"), "apps/below/y.yaml": crd("y"), "apps/below/z.yaml": crd("z"), "apps/kustomized/kustomization.yaml": "resources: [w.yaml]\n", "apps/kustomized/w.yaml": crd("w"),
		}
	}
	for name, c := range map[string]struct {
		files files
		want  string
		err   string
	}{
		"nothing":                               {repository(""), "w x y z", ""},
		"a file":                                {with(repository(""), files{".sourceignore": "x.yaml\n"}), "w y z", ""},
		"a folder":                              {with(repository(""), files{".sourceignore": "# why\n/apps/below/\n"}), "w x", ""},
		"a folder but for a file":               {with(repository(""), files{".sourceignore": "/apps/below/*\n!/apps/below/z.yaml\n"}), "w x z", ""},
		"a pattern for any depth":               {with(repository(""), files{".sourceignore": "**/y.yaml\n"}), "w x z", ""},
		"of the folder itself":                  {with(repository(""), files{"apps/below/.sourceignore": "y.yaml\n"}), "w x z", ""},
		"a pattern that leads elsewhere":        {with(repository(""), files{"apps/below/.sourceignore": "/x.yaml\n"}), "w x y z", ""},
		"spec.ignore":                           {repository("x.yaml"), "w y z", ""},
		"spec.ignore over a .sourceignore":      {with(repository("!/apps/x.yaml"), files{".sourceignore": "x.yaml\n"}), "w x y z", ""},
		"files of pipelines":                    {with(repository(""), files{"apps/cloudbuild.yaml": crd("v"), "apps/.github/a.yaml": crd("u")}), "w x y z", ""},
		"these, where something is said":        {with(repository("none"), files{"apps/cloudbuild.yaml": crd("v")}), "v w x y z", ""},
		"a resource that a kustomization names": {with(repository(""), files{".sourceignore": "w.yaml\n"}), "", "w.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := followed(t, c.files)
			unit := cluster.Unit("flux-system/a")
			g.Expect(unit).NotTo(BeNil())
			if c.err != "" {
				g.Expect(unit.Err).To(MatchError(ContainSubstring(c.err)), "Flux fails, too")
				return
			}
			g.Expect(unit.Err).NotTo(HaveOccurred())
			g.Expect(brought(cluster)).To(Equal(c.want))
		})
	}
}
