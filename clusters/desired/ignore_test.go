package desired_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/desired"
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

// source-controller puts no link into an artifact, whatever it leads to: what becomes one is left out.
func TestFluxHandsOnNoLinks(t *testing.T) {
	for name, c := range map[string]struct {
		files files
		link  string
		to    string
		want  string
		err   string
	}{
		"a file in a folder without a kustomization": {files{}, "apps/l.yaml", "../elsewhere/l.yaml", "x", ""},
		"a file that a kustomization names":          {files{"apps/kustomization.yaml": "resources: [x.yaml, l.yaml]\n"}, "apps/l.yaml", "../elsewhere/l.yaml", "", "l.yaml"},
		"a folder that a kustomization names":        {files{"apps/kustomization.yaml": "resources: [x.yaml, l]\n"}, "apps/l", "../elsewhere", "", "l"},
		"a folder":                                   {files{}, "apps/l", "../elsewhere", "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tree := opened(t, with(files{
				"entry/a.yaml":     flux("a", "path: ./apps, sourceRef: {kind: GitRepository, name: flux-system}"),
				"apps/x.yaml":      crd("x"),
				"elsewhere/l.yaml": crd("l"),
			}, c.files))
			g.Expect(os.Symlink(c.to, filepath.Join(tree.Root, c.link))).To(Succeed())
			cluster, err := desired.Follow(t.Context(), tree, "entry", desired.Options{})
			g.Expect(err).NotTo(HaveOccurred())
			unit := cluster.Unit("flux-system/a")
			g.Expect(unit).NotTo(BeNil())
			if c.err != "" {
				g.Expect(unit.Err).To(MatchError(ContainSubstring(c.err)))
				return
			}
			g.Expect(unit.Err).NotTo(HaveOccurred())
			g.Expect(brought(cluster)).To(Equal(c.want))
		})
	}
}
