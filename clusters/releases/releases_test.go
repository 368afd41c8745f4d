package releases

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/words"
)

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// project is a Git repository.
type project struct {
	*WithT
	t   *testing.T
	dir string
}

func newProject(t *testing.T) project {
	t.Helper()
	p := project{NewWithT(t), t, t.TempDir()}
	p.git("init", "-q", "-b", "main")
	return p
}

func (p project) git(args ...string) {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), "git", append([]string{"-C", p.dir}, args...)...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	said, err := command.CombinedOutput()
	p.Expect(err).NotTo(HaveOccurred(), "git %v: %s", args, said)
}

func (p project) write(name, content string) {
	p.t.Helper()
	file := filepath.Join(p.dir, name)
	p.Expect(os.MkdirAll(filepath.Dir(file), 0o750)).To(Succeed())
	p.Expect(os.WriteFile(file, []byte(content), 0o600)).To(Succeed())
}

// release commits what there is, and tags it.
func (p project) release(tags ...string) {
	p.t.Helper()
	p.git("add", "-A")
	p.git("commit", "-q", "--allow-empty", "-m", "a commit")
	for _, tag := range tags {
		p.git("tag", tag)
	}
}

// reads the names of the releases.
func (p project) reads(o Options) (*Source, []string) {
	p.t.Helper()
	o.Repository = p.dir
	source, err := Read(p.t.Context(), o)
	p.Expect(err).NotTo(HaveOccurred())
	return source, words.Of(source.Releases, func(r Release) string { return r.Name })
}

func TestWhichTagsAreReleases(t *testing.T) {
	p := newProject(t)
	p.release("v0.8.0")
	p.write("config/crd/widgets.yaml", widgets)
	p.release("v0.10.1", "v0.9.0", "v0.9.1", "0.9.0", "v1.0.0-rc.1", "v0.10.0", "api/v2.0.0", "stable")
	for name, c := range map[string]struct {
		options Options
		want    []string
		notes   []string
	}{
		"the first of each minor and the newest, by their numbers": {want: []string{"0.9.0", "v0.10.0", "v0.10.1"},
			notes: []string{"v0.9.0 was left out: 0.9.0 has the same number", "1 patch release was left out", "v0.8.0 was left out: no CustomResourceDefinition is"}},
		"each patch":                  {options: Options{Patches: true, From: "0.9.0"}, want: []string{"0.9.0", "v0.9.1", "v0.10.0", "v0.10.1"}},
		"what comes before a release": {options: Options{PreReleases: true, From: "v0.10.0"}, want: []string{"v0.10.0", "v1.0.0-rc.1"}},
		"the last":                    {options: Options{Last: 1}, want: []string{"v0.10.1"}},
		"those of a part":             {options: Options{Tags: "api/*"}, want: []string{"api/v2.0.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			source, names := p.reads(c.options)
			g.Expect(names).To(Equal(c.want))
			for _, note := range c.notes {
				g.Expect(source.Notes).To(ContainElement(ContainSubstring(note)))
			}
		})
	}
	_, err := Read(t.Context(), Options{Repository: p.dir, From: "v7"})
	p.Expect(err).To(MatchError(ContainSubstring("--from v7: there is no such tag")))
}

func TestTheWorkTreeIsAReleaseOfItsOwnIfItDiffers(t *testing.T) {
	p := newProject(t)
	p.write("config/crd/widgets.yaml", widgets)
	p.release("v1.0.0")
	source, names := p.reads(Options{Unreleased: true})
	p.Expect(names).To(Equal([]string{"v1.0.0"}))
	p.Expect(source.Unchanged).To(BeTrue())

	p.write("config/crd/widgets.yaml", widgets+"  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n")
	source, names = p.reads(Options{Unreleased: true, Next: "v2.0.0"})
	p.Expect(names).To(Equal([]string{"v1.0.0", "v2.0.0"}))
	p.Expect(source.Unchanged).To(BeFalse())
	p.Expect(source.Releases[1].Unreleased).To(BeTrue())
	p.Expect(source.Releases[1].Places["widgets.example.com"].File).To(Equal("config/crd/widgets.yaml"))
}

func TestReleasesThatNoTagNames(t *testing.T) {
	g := NewWithT(t)
	crds := func(_ context.Context, place string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
		return []*apiextensionsv1.CustomResourceDefinition{{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: place}}}, nil
	}
	source, err := Read(t.Context(), Options{Named: []string{"v1=a", "v2=b"}, CRDs: crds})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(source.Releases).To(HaveExactElements(HaveField("Name", "v1"), HaveField("Name", "v2")))
	g.Expect(source.Releases[1].CRDs[0].Spec.Group).To(Equal("b"))
	_, err = Read(t.Context(), Options{Named: []string{"v1"}, CRDs: crds})
	g.Expect(err).To(MatchError(ContainSubstring("--release v1 is not NAME=PATH")))
}

func TestWhereCRDsLie(t *testing.T) {
	g := NewWithT(t)
	files := fstest.MapFS{}
	for _, name := range []string{
		"config/crd/bases/a.yaml", "operator/config/crd/a.yaml", "crds/a.yaml", "chart/Chart.yaml", "chart/crds/a.yaml", "deploy/a.yaml",
		"vendor/config/crd/a.yaml", ".hidden/crds/a.yaml", "docs/crds/a.yaml",
	} {
		files[name] = &fstest.MapFile{}
	}
	g.Expect(candidates(files, families)).To(Equal([][]string{
		{"config/crd", "operator/config/crd"}, {"config/crd", "crds", "operator/config/crd"}, {"chart/crds"}, {"config", "deploy"},
	}))
}
