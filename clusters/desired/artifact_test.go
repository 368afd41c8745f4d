package desired_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/desired"
)

// An artifact that is made of files of this repository has what they have.
func TestAnArtifactOfThisRepositoryIsBuilt(t *testing.T) {
	const whole = "{from: '@repo/deploy/**', to: '@artifact/'}"
	const merged = ", {from: '@repo/over/x.yaml', to: '@artifact/', strategy: Merge}"
	for name, c := range map[string]struct {
		copies, path string
		more         files
		want, why    string
	}{
		"a folder":                         {whole, "./", nil, "x y", ""},
		"a source that is called alike":    {whole, "./", files{"entry/art.yaml": gitRepository("art", "url: 'https://git/ours', ignore: x.yaml")}, "x y", ""},
		"a folder of it":                   {whole, "./below", nil, "y", ""},
		"below a name of its own":          {"{from: '@repo/deploy/**', to: '@artifact/app/'}", "./app/below", nil, "y", ""},
		"beside another":                   {"{from: '@chart/**', to: '@artifact/chart/'}, {from: '@repo/deploy/**', to: '@artifact/app'}", "app", nil, "x y", ""},
		"all of the repository":            {"{from: '@repo/**', to: '@artifact/'}", "./deploy", nil, "x y", ""},
		"a folder that keeps its name":     {"{from: '@repo/deploy', to: '@artifact/app'}", "./app/deploy", nil, "x y", ""},
		"nothing at the folder's name":     {"{from: '@repo/deploy', to: '@artifact/app'}", "./deploy", nil, "", "nothing is copied there"},
		"put together of two":              {whole + ", {from: '@repo/more/**', to: '@artifact/below/'}", "./", nil, "x y z", ""},
		"a base beside an overlay":         {"{from: '@repo/deploy/**', to: '@artifact/base/'}, {from: '@repo/overlay/**', to: '@artifact/prod/'}", "./prod", nil, "x", ""},
		"one over the other":               {whole + ", {from: '@repo/over/**', to: '@artifact/'}", "./", nil, "w y", ""},
		"one under the other":              {"{from: '@repo/over/**', to: '@artifact/'}, " + whole, "./", nil, "x y", ""},
		"some files":                       {"{from: '@repo/deploy/*.yaml', to: '@artifact/'}", "./", nil, "x", ""},
		"some files keep their folder":     {"{from: '@repo/deploy/*.yaml', to: '@artifact/'}", "./deploy", nil, "x", ""},
		"two stars are one":                {"{from: '@repo/**/*.yaml', to: '@artifact/'}", "./deploy", nil, "x", ""},
		"a pattern that fits none":         {"{from: '@repo/deploy/*.json', to: '@artifact/'}", "./", nil, "", "no file of this repository is deploy/*.json"},
		"a pattern with a folder up":       {"{from: '@repo/overlay/../deploy/*', to: '@artifact/'}", "./", nil, "", "no file of this repository is"},
		"a file":                           {"{from: '@repo/deploy/x.yaml', to: '@artifact/'}", "./", nil, "x", ""},
		"a file by another name":           {"{from: '@repo/deploy/x.yaml', to: '@artifact/a/b.yaml'}", "./a", nil, "x", ""},
		"a file into a folder":             {whole + ", {from: '@repo/more/z.yaml', to: '@artifact/below'}", "./below", nil, "y z", ""},
		"a text that becomes a manifest":   {"{from: '@repo/crd.md', to: '@artifact/x.yaml'}", "./", nil, "", "crd.md becomes another kind of file"},
		"something left out":               {"{from: '@repo/deploy/**', to: '@artifact/', exclude: ['x.*']}", "./", nil, "y", ""},
		"something left out by its path":   {"{from: '@repo/deploy/**', to: '@artifact/', exclude: ['deploy/x.yaml']}", "./", nil, "y", ""},
		"something left out from there":    {"{from: '@repo/deploy/**', to: '@artifact/', exclude: ['below/**']}", "./", nil, "x", ""},
		"a folder left out":                {"{from: '@repo/deploy/**', to: '@artifact/', exclude: [below]}", "./", nil, "x", ""},
		"all left out":                     {"{from: '@repo/deploy/**', to: '@artifact/', exclude: ['*']}", "./", nil, "", "no file of this repository is"},
		"no pattern":                       {"{from: '@repo/deploy/**', to: '@artifact/', exclude: ['[']}", "./", nil, "", "[ is no pattern"},
		"something merged":                 {whole + merged, "./", nil, "w y", ""},
		"a new file is not merged":         {"{from: '@repo/over/x.yaml', to: '@artifact/', strategy: Merge}", "./", nil, "w", ""},
		"files in folders are not merged":  {"{from: '@repo/deploy', to: '@artifact/'}, {from: '@repo/again/deploy', to: '@artifact/', strategy: Merge}", "./deploy", nil, "again y", ""},
		"something unpacked":               {whole + ", {from: '@repo/deploy/*', to: '@artifact/', strategy: Extract}", "./", nil, "", "@repo/deploy/* is unpacked"},
		"a strategy that nobody knows":     {"{from: '@repo/deploy/**', to: '@artifact/', strategy: Guess}", "./", nil, "", "what the strategy Guess does is not known"},
		"another source over it":           {whole + ", {from: '@chart/**', to: '@artifact/'}", "./", nil, "", "it comes from OCIRepository c"},
		"another source over a base":       {"{from: '@repo/deploy/**', to: '@artifact/base/'}, {from: '@repo/overlay/**', to: '@artifact/prod/'}, {from: '@chart/**', to: '@artifact/base/'}", "./prod", nil, "", "it comes from OCIRepository c"},
		"another source below":             {whole + ", {from: '@chart/**', to: '@artifact/chart/'}", "./", nil, "", "it comes from OCIRepository c"},
		"a base of another source":         {"{from: '@chart/**', to: '@artifact/base/'}, {from: '@repo/overlay/**', to: '@artifact/prod/'}", "./prod", nil, "", "prod cannot be built"},
		"of another source":                {"{from: '@chart/**', to: '@artifact/'}", "./", nil, "", "it comes from OCIRepository c"},
		"a file over a folder":             {whole + ", {from: '@repo/deploy/x.yaml', to: '@artifact/below/y.yaml/'}", "./", nil, "", "y.yaml"},
		"out of the artifact":              {"{from: '@repo/deploy/**', to: '@artifact/../'}", "./", nil, "", "leads out of the artifact"},
		"out of the repository":            {"{from: '@repo/../**', to: '@artifact/'}", "./", nil, "", "no file of this repository is"},
		"a folder out of the repository":   {"{from: '@repo/..', to: '@artifact/'}", "./", nil, "", "there is no file or folder .."},
		"a folder that leads out of it":    {"{from: '@repo/leads/**', to: '@artifact/'}", "./", nil, "", "no such file"},
		"a folder that is not there":       {"{from: '@repo/none/**', to: '@artifact/'}", "./", nil, "", "no file of this repository is none/**"},
		"a path that is not in it":         {"{from: '@repo/deploy/**', to: '@artifact/app/'}", "./other", nil, "", "nothing is copied there"},
		"what all sources ignore":          {"{from: '@repo/.github/**', to: '@artifact/'}", "./", files{".github/x.yaml": crd("x")}, "", "no file of this repository is"},
		"what the source ignores":          {whole, "./", files{".sourceignore": "x.yaml\n"}, "y", ""},
		"what a folder ignores":            {whole, "./", files{"deploy/below/.sourceignore": "y.yaml\n"}, "x", ""},
		"all but one ignored":              {whole, "./", files{".sourceignore": "/deploy/\n!/deploy/below/y.yaml\n"}, "y", ""},
		"what an artifact ignores":         {whole, "./", files{".sourceignore": "*.md\n", "deploy/.github/x.yaml": crd("hidden")}, "x y", ""},
		"what the GitRepository ignores":   {whole, "./", files{"sources/s.yaml": ourSource("ignore: /deploy/below/")}, "x", ""},
		"some folders of the repository":   {whole, "./", files{"sources/s.yaml": ourSource("sparseCheckout: [deploy]")}, "", "what spec.sparseCheckout of GitRepository flux-system does"},
		"another repository within":        {whole, "./", files{"sources/s.yaml": ourSource("include: [{repository: {name: x}}]")}, "", "what spec.include of GitRepository flux-system does"},
		"a tag":                            {whole, "./", files{"sources/s.yaml": ourSource("ref: {tag: v1}")}, "", "it is taken from tag v1"},
		"a source that nobody knows":       {"{from: '@what/deploy/**', to: '@artifact/'}", "./", nil, "", "it has 0 sources what"},
		"a source that is not here":        {"{from: '@other/deploy/**', to: '@artifact/'}", "./", nil, "", "GitRepository other is not in this repository"},
		"one that flux bootstrap makes":    {whole, "./", files{"sources/s.yaml": ""}, "x y", ""},
		"a path that leads out of there":   {whole, "../more", nil, "", "nothing is copied there"},
		"a path out of there is from root": {whole, "../below", nil, "y", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := followed(t, with(files{
				"entry/a.yaml":   flux("a", "path: "+c.path+", sourceRef: {kind: ExternalArtifact, name: art}") + flux("later", "path: ./sources") + flux("last", "path: ./generators"),
				"sources/s.yaml": ourSource("ref: {branch: main}"), "generators/g.yaml": generator(c.copies),
				"deploy/x.yaml": crd("x"), "deploy/below/y.yaml": crd("y"), "more/z.yaml": crd("z"), "crd.md": crd("x"),
				"over/x.yaml": crd("w"), "again/deploy/x.yaml": crd("again"), "overlay/kustomization.yaml": "resources: [../base/x.yaml]\n",
				"leads/kustomization.yaml": "resources: [../deploy/x.yaml]\n",
			}, c.more))
			if c.why != "" {
				g.Expect(cluster.Unseen).To(ContainElement(HaveField("Why", And(ContainSubstring("ExternalArtifact art"), ContainSubstring(c.why)))))
				g.Expect(cluster.Unseen).To(ContainElement(HaveField("Why", Not(ContainSubstring("moult-artifact")))))
				g.Expect(cluster.Unseen).To(ContainElement(HaveField("Name", "ArtifactGenerator flux-system/g")))
				return
			}
			g.Expect(cluster.Unseen).To(BeEmpty())
			g.Expect(brought(cluster)).To(Equal(c.want))
			for _, object := range cluster.CRDs() {
				if c.copies != whole+merged || object.GetName() == "y" {
					g.Expect(object.Place().File).To(MatchRegexp("^(deploy|more|over|again)/.*yaml$"))
				}
			}
		})
	}
}

// generator makes the artifact art.
func generator(copies string) string {
	return object("source.extensions.fluxcd.io/v1beta1", "ArtifactGenerator", "g",
		"sources: [{alias: repo, kind: GitRepository, name: flux-system}, {alias: chart, kind: OCIRepository, name: c}, {alias: other, kind: GitRepository, name: other}],"+
			" artifacts: [{name: art, copy: ["+copies+"]}]")
}

// ourSource is the GitRepository of this repository.
func ourSource(spec string) string {
	return gitRepository("flux-system", "url: 'https://git/ours', "+spec)
}

// Links are not handed on by source-controller, wherever they lead, and nothing is read through one.
func TestAnArtifactHasNoLinks(t *testing.T) {
	for name, c := range map[string]struct{ link, to, copies, want, why string }{
		"a file beside it":            {"deploy/x.yaml", "../more/z.yaml", "{from: '@repo/deploy/**', to: '@artifact/'}", "y", ""},
		"a file that is named":        {"deploy/x.yaml", "../more/z.yaml", "{from: '@repo/deploy/x.yaml', to: '@artifact/'}", "", "there is no file or folder deploy/x.yaml"},
		"a folder on the way":         {"linked", "deploy", "{from: '@repo/linked/**', to: '@artifact/'}", "", "no file of this repository is linked/**"},
		"a file behind a folder":      {"linked", "deploy", "{from: '@repo/linked/y.yaml', to: '@artifact/'}", "", "there is no file or folder linked/y.yaml"},
		"a folder out of the world":   {"deploy/etc", "/etc", "{from: '@repo/deploy/**', to: '@artifact/'}", "y", ""},
		"a folder around the folder":  {"deploy/round", "..", "{from: '@repo/deploy/**', to: '@artifact/'}", "y", ""},
		"a file of this repository's": {"deploy/.sourceignore", "../more/z.yaml", "{from: '@repo/deploy/**', to: '@artifact/'}", "y", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tree := opened(t, files{
				"entry/a.yaml":  flux("a", "path: ./, sourceRef: {kind: ExternalArtifact, name: art}") + ourSource("") + generator(c.copies),
				"deploy/y.yaml": crd("y"), "more/z.yaml": crd("z"),
			})
			g.Expect(os.Symlink(c.to, filepath.Join(tree.Root, c.link))).To(Succeed())
			cluster, err := desired.Follow(t.Context(), tree, "entry", desired.Options{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(brought(cluster)).To(Equal(c.want))
			if c.why != "" {
				g.Expect(cluster.Unseen).To(ContainElement(HaveField("Why", ContainSubstring(c.why))))
			}
		})
	}
}

// What is unpacked or gets another name may come from any file; else programs and archives do not decide.
func TestWhatDecidesAboutAnArtifactThatIsNotBuilt(t *testing.T) {
	for copies, decides := range map[string]bool{
		"{from: '@chart/**', to: '@artifact/'}":                                                        false,
		"{from: '@repo/deploy/*', to: '@artifact/', strategy: Extract}":                                true,
		"{from: '@repo/deploy/c.tgz', to: '@artifact/x.yaml'}, {from: '@chart/**', to: '@artifact/'}":  true,
		"{from: '@repo/deploy/c.yaml', to: '@artifact/x.yaml'}, {from: '@chart/**', to: '@artifact/'}": false,
	} {
		t.Run(copies, func(t *testing.T) {
			fingerprints := func(archive string) (all []string) {
				for _, unseen := range followed(t, files{
					"entry/a.yaml": flux("a", "path: ./, sourceRef: {kind: ExternalArtifact, name: art}") + ourSource("") + generator(copies),
					"deploy/c.tgz": archive, "deploy/c.yaml": crd("c"),
				}).Unseen {
					all = append(all, unseen.Fingerprint)
				}
				return all
			}
			before, after := fingerprints("one"), fingerprints("two")
			g := NewWithT(t)
			g.Expect(before).To(HaveLen(2)) // the Kustomization and the generator
			for i := range before {
				g.Expect(before[i] != after[i]).To(Equal(decides))
			}
		})
	}
}

// Of an artifact that cannot be built, it decides which files the repository leaves out.
func TestWhatIsIgnoredDecidesAboutAnArtifactThatIsNotBuilt(t *testing.T) {
	fingerprints := func(ignored string) (all []string) {
		for _, unseen := range followed(t, files{
			"entry/a.yaml":  flux("a", "path: ./, sourceRef: {kind: ExternalArtifact, name: art}") + ourSource("") + generator("{from: '@repo/deploy/**', to: '@artifact/'}"),
			"deploy/x.yaml": crd("x"), "deploy/broken.yaml": "a: b: c\n", ".sourceignore": ignored,
		}).Unseen {
			all = append(all, unseen.Fingerprint)
		}
		return all
	}
	g := NewWithT(t)
	before := fingerprints("*.md\n")
	g.Expect(before).NotTo(BeEmpty())
	g.Expect(fingerprints("*.md\n")).To(Equal(before))
	g.Expect(fingerprints("x.yaml\n")).NotTo(Equal(before))
}
