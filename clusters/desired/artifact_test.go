package desired_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// An artifact that is made of folders of this repository has what they have.
func TestAnArtifactOfThisRepositoryIsBuilt(t *testing.T) {
	generator := func(copies string) string {
		return object("source.extensions.fluxcd.io/v1beta1", "ArtifactGenerator", "g",
			"sources: [{alias: repo, kind: GitRepository, name: flux-system}, {alias: chart, kind: OCIRepository, name: c}], artifacts: [{name: art, copy: ["+copies+"]}]")
	}
	const whole = "{from: '@repo/deploy/**', to: '@artifact/'}"
	for name, c := range map[string]struct {
		copies, path string
		more         files
		want, why    string
	}{
		"a folder":                       {whole, "./", nil, "x y", ""},
		"a source that is called alike":  {whole, "./", files{"entry/art.yaml": gitRepository("art", "url: 'https://git/ours', ignore: x.yaml")}, "x y", ""},
		"a folder of it":                 {whole, "./below", nil, "y", ""},
		"below a name of its own":        {"{from: '@repo/deploy/**', to: '@artifact/app/'}", "./app/below", nil, "y", ""},
		"beside another":                 {"{from: '@chart/**', to: '@artifact/chart/'}, {from: '@repo/deploy/**', to: '@artifact/app'}", "app", nil, "x y", ""},
		"all of the repository":          {"{from: '@repo/**', to: '@artifact/'}", "./deploy", nil, "x y", ""},
		"put together of two":            {whole + ", {from: '@repo/more/**', to: '@artifact/below/'}", "./", nil, "", "it is put together of several"},
		"put together below a name":      {"{from: '@repo/deploy/**', to: '@artifact/app/'}, {from: '@repo/more/**', to: '@artifact/app/more/'}", "./app", nil, "", "it is put together of several"},
		"one over the other":             {whole + ", {from: '@repo/more/**', to: '@artifact/'}", "./below", nil, "", "it is put together of several"},
		"of another source":              {"{from: '@chart/**', to: '@artifact/'}", "./", nil, "", "it comes from OCIRepository c"},
		"some files":                     {"{from: '@repo/deploy/*.yaml', to: '@artifact/'}", "./", nil, "", "@repo/deploy/*.yaml is no whole folder"},
		"some files of any depth":        {"{from: '@repo/**/*.yaml', to: '@artifact/'}", "./", nil, "", "is no whole folder"},
		"a file":                         {"{from: '@repo/deploy/x.yaml', to: '@artifact/x.yaml'}", "./", nil, "", "is no whole folder"},
		"something left out":             {"{from: '@repo/deploy/**', to: '@artifact/', exclude: ['*.md']}", "./", nil, "", "some of it is merged, unpacked or left out"},
		"something merged":               {"{from: '@repo/deploy/**', to: '@artifact/', strategy: Merge}", "./", nil, "", "some of it is merged, unpacked or left out"},
		"a folder that leads out of it":  {"{from: '@repo/leads/**', to: '@artifact/'}", "./", nil, "", "lies outside of"},
		"a folder that is not there":     {"{from: '@repo/none/**', to: '@artifact/'}", "./", nil, "", "there is no folder none"},
		"a path that is not in it":       {"{from: '@repo/deploy/**', to: '@artifact/app/'}", "./other", nil, "", "nothing is copied there"},
		"what the source ignores":        {whole, "./", files{".sourceignore": "*.md\n"}, "", "leaves out is not worked out"},
		"a source that nobody knows":     {"{from: '@what/deploy/**', to: '@artifact/'}", "./", nil, "", "it has no source what"},
		"a path that leads out of there": {whole, "../more", nil, "", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := followed(t, with(files{
				"entry/a.yaml":   flux("a", "path: "+c.path+", sourceRef: {kind: ExternalArtifact, name: art}") + flux("later", "path: ./sources"),
				"sources/s.yaml": gitRepository("flux-system", "url: 'https://git/ours', ref: {branch: main}") + generator(c.copies),
				"deploy/x.yaml":  crd("x"), "deploy/below/y.yaml": crd("y"), "more/z.yaml": crd("z"),
				"leads/kustomization.yaml": "resources: [../deploy/x.yaml]\n",
			}, c.more))
			if c.why != "" {
				g.Expect(cluster.Unseen).To(ContainElement(HaveField("Why", And(ContainSubstring("ExternalArtifact art"), ContainSubstring(c.why)))))
				g.Expect(cluster.Unseen).To(ContainElement(HaveField("Name", "ArtifactGenerator flux-system/g")))
				return
			}
			g.Expect(cluster.Unseen).To(BeEmpty())
			g.Expect(brought(cluster)).To(Equal(c.want))
			for _, object := range cluster.CRDs() {
				g.Expect(object.Place().File).To(HavePrefix("deploy/"))
			}
		})
	}
}
