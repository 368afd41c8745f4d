package versions

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/policies/deprecation"
)

// strimzi is a history in which much goes wrong: v1 is stored as it comes, and the old version leaves a release later.
func strimzi(t *testing.T) project {
	t.Helper()
	p := newProject(t)
	const kustomization = "resources: [bases/widgets.yaml]\n"
	p.release("v0.9.0", "2024-01-01", map[string]string{"README.md": "soon"})
	p.release("v1.0.0", "2024-02-01", map[string]string{bases: crd("v1beta1 served,stored size: {type: integer}, colour: {type: string}"), "config/crd/kustomization.yaml": kustomization})
	p.release("v1.0.1", "2024-02-02", nil)
	p.release("v1.1.0-rc.1", "2024-03-01", map[string]string{bases: crd("v1beta1 served,stored")})
	p.release("v1.1.0", "2024-04-01", map[string]string{bases: crd("v1beta1 served,deprecated size: {type: integer}, colour: {type: string}", "v1 served,stored size: {type: integer}, colour: {type: string}")})
	p.release("v1.2.0", "2024-05-01", map[string]string{bases: crd("v1 served,stored size: {type: integer}, colour: {type: string}")})
	p.release("helm/v9.0.0", "2024-05-01", map[string]string{bases: crd("v9 served,stored")})
	p.write(map[string]string{bases: crd("v1 served,stored size: {type: integer}, color: {type: string}")})
	return p
}

func TestAHistoryInGitIsJudged(t *testing.T) {
	p := strimzi(t)
	got := p.run()
	p.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	p.Expect(got.Out).To(Equal(`v1.2.0 → next
  error: FieldRenamed  widgets.example.com v1 spec.colour  (config/crd/kustomization.yaml)
    it is removed, and spec.color is added beside it with the same type, which looks like a new name (that is a guess). Objects and manifests that use the old name lose the value
    fix: keep both for a release, read the old one where the new one is empty, and drop spec.colour in a new version
  info: LostOnTheWayBack  widgets.example.com v1  (config/crd/kustomization.yaml)
    v1 has 1 field that v1.2.0 does not know: spec.color; after a rollback, every object that is written loses it

v1.1.0 → v1.2.0
  error: RemovedTooSoon  widgets.example.com v1beta1  (config/crd/kustomization.yaml)
    v1beta1 leaves, and it is deprecated since v1.1.0 only: 1 minor release and 30 days, where the policy asks for 3 minor releases and 270 days; clients and manifests at it fail from one release to the next
    fix: serve v1beta1 until 3 minor releases and 270 days have passed
  warning: RemovedWhileStored  widgets.example.com v1beta1  (config/crd/kustomization.yaml)
    v1beta1 was the storage version up to v1.0.0: the API server refuses this release in every cluster that had it and has not migrated its objects
    fix: ask users to migrate before the upgrade, for example with ` + "`moult migrate`" + `, and in which release they have to be; ` + "`moult notes`" + ` writes it

v1.0.0 → v1.1.0
  error: StorageWithoutOverlap  widgets.example.com v1  (config/crd/kustomization.yaml)
    v1 is stored in the first release that serves it, so after a rollback to v1.0.0 what was written cannot be read. API servers and clients that have not been upgraded yet cannot read it, either
    fix: make a release that serves v1beta1 and v1 and stores at v1beta1, and store at v1 in the one after it
  warning: NoWayBack  widgets.example.com v1  (config/crd/kustomization.yaml)
    once this release is installed the API server refuses the CRD of v1.0.0: status.storedVersions[1]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions; a rollback leaves the old program with the new CRD
    fix: add v1 in one release and store at it in a later one, or warn users that there is no way back and that they need a backup before (` + "`moult backup`" + `)

note: 1 patch release was left out; --patches reads them
note: v0.9.0 was left out: no CustomResourceDefinition is where operators keep them; name the folders with --crds
4 releases from v1.0.0 to next, the last with 1 CRD: 3 errors, 2 warnings, 1 for information
`))
	p.Expect(got.ErrOut).To(Equal(`reading v0.9.0 (1 of 4)
reading v1.0.0 (2 of 4)
reading v1.1.0 (3 of 4)
reading v1.2.0 (4 of 4)
reading the work tree
moult: 3 errors in the history of the CRDs; what and where is above, and --help says how to accept some
`))
}

func TestWhatIsRead(t *testing.T) {
	p := strimzi(t)
	p.write(map[string]string{"crds/a.yaml": crd("v1 served,stored"), "elsewhere/b.yaml": crd("v1 served,stored", "v2 served"), "broken/c.yaml": "kind: [CustomResourceDefinition\n"})
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"from a tag":                   {[]string{"--from", "v1.1.0"}, 1, "3 releases from v1.1.0 to next"},
		"the last two":                 {[]string{"--last", "2"}, 1, "3 releases from v1.1.0 to next"},
		"every patch":                  {[]string{"--patches"}, 1, "5 releases from v1.0.0 to next"},
		"pre-releases":                 {[]string{"--pre-releases", "--patches"}, 1, "v1.0.1 → v1.1.0-rc.1"},
		"without the work tree":        {[]string{"--unreleased=false"}, 1, "3 releases from v1.0.0 to v1.2.0"},
		"the newest step":              {[]string{"--newest"}, 1, "4 releases from v1.0.0 to next, the last with 1 CRD: 1 error, 1 warning, 1 for information"},
		"the newest, which is a major": {[]string{"--newest", "--next", "v2.0.0"}, 1, "v1.2.0 → v2.0.0"},
		"another folder":               {[]string{"--crds", "elsewhere", "--crds", "config/crd/bases"}, 1, "v1.2.0 → next"},
		"tags of another name":         {[]string{"--tags", "helm/*", "--crds", bases}, 1, "2 releases from helm/v9.0.0 to next"},
		"the repository from outside":  {[]string{"config"}, 1, "4 releases from v1.0.0 to next"},
		"tags that are not there":      {[]string{"--tags", "charts-*"}, 2, "none of 7 tags is the number of a release that matches --tags charts-*"},
		"a tag that is not there":      {[]string{"--from", "v7.0.0"}, 2, "--from v7.0.0: there is no such tag among the releases; the newest is v1.2.0"},
		"a folder without CRDs":        {[]string{"--crds", "nowhere"}, 2, "no CustomResourceDefinition in any tag or in the work tree"},
		"one release":                  {[]string{"--last", "1", "--unreleased=false"}, 2, "there are no two releases to compare: only v1.2.0 has CRDs"},
		"a CRD that cannot be read":    {[]string{"--crds", "config/crd/bases", "--crds", "broken"}, 1, "note: next: broken/c.yaml is neither YAML nor JSON"},
		"an unknown format":            {[]string{"-o", "wide"}, 2, "-o wide is none of"},
		"two repositories":             {[]string{"a", "b"}, 2, "accepts at most 1 arg"},
		"a release that is no pair":    {[]string{"--release", "v1"}, 2, "--release v1 is not NAME=PATH"},
		"a repository and releases":    {[]string{".", "--release", "a=b"}, 2, "not both"},
		"no such repository":           {[]string{"nowhere"}, 2, "there is no such folder"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := moult.Run(t, append([]string{"check", "versions"}, c.args...)...)
			g.Expect(got.Code).To(Equal(c.code), got.Out+got.ErrOut)
			g.Expect(got.Out + got.ErrOut).To(ContainSubstring(c.says))
		})
	}
}

func TestReleasesThatAreInNoRepository(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{
		"one.yaml": crd("v1 served,stored a: {type: string}"), "two/crd.yaml": crd("v1 served,stored"),
	})
	got := moult.Run(t, "check", "versions", "--release", "one=one.yaml", "--release", "two=two", "-o", "json")
	g.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	var report deprecation.Report
	g.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed())
	g.Expect(report.Findings).To(ConsistOf(And(HaveField("Rule", deprecation.FieldRemoved), HaveField("From", "one"), HaveField("To", "two"), HaveField("Path", "spec.a"))))
}

func TestThePolicyOfTheRepository(t *testing.T) {
	p := strimzi(t)
	const policy = `windows: {beta: {releases: 1, days: 30}}
severities: {NoWayBack: "off", LostOnTheWayBack: "off", RemovedWhileStored: info}
accept:
- {rule: StorageWithoutOverlap, crd: widgets.example.com, release: v1.1.0, reason: it was a mistake}
- {rule: FieldRenamed, crd: widgets.example.com, reason: nobody uses colours}
- {rule: FieldRemoved, crd: widgets.example.com, reason: it never was}
`
	p.write(map[string]string{deprecation.PolicyFile: policy})
	got := p.run()
	p.Expect(got.Code).To(BeZero(), got.Out+got.ErrOut)
	p.Expect(got.Out).To(And(
		ContainSubstring("accepted: it was a mistake"), ContainSubstring("accepted: nobody uses colours"), ContainSubstring("accepted and not found: FieldRemoved widgets.example.com (it never was)"),
		ContainSubstring("0 errors, 0 warnings, 3 for information")), got.Out)
	p.write(map[string]string{"other.yaml": "severities:\n  Nothing: error\n"})
	got = p.run("--policy", "other.yaml")
	p.Expect(got.Code).To(Equal(cli.ExitError))
	p.Expect(got.ErrOut).To(ContainSubstring("--policy other.yaml: line 2: severities: there is no rule Nothing"))
	p.Expect(p.run("--policy", "nowhere.yaml").ErrOut).To(ContainSubstring("--policy nowhere.yaml: open"))
}

func TestTheExampleOfTheHelpIsAPolicy(t *testing.T) {
	g := NewWithT(t)
	_, err := deprecation.ReadPolicy([]byte(examplePolicy))
	g.Expect(err).NotTo(HaveOccurred())
}

func TestFormats(t *testing.T) {
	p := strimzi(t)
	for format, says := range map[string][]string{
		"markdown": {"### Versions of the CRDs", "**`v1.2.0` → `next`**", "| error | FieldRenamed | `widgets.example.com v1 spec.colour` |", "Note: `v0.9.0 was left out"},
		"junit":    {`<testsuite name="v1.2.0 → next" tests="3" failures="1" errors="0">`, `<testcase classname="widgets.example.com" name="FieldRenamed: widgets.example.com v1 spec.colour">`, `<failure message="it is removed`},
		"yaml":     {"rule: FieldRenamed", "unreleased: true"},
		"json":     {`"rule": "FieldRenamed"`, `"path": "spec.colour"`, `"from": "v1.2.0"`, `"day": "2024-05-01"`},
	} {
		got := p.run("-o", format)
		p.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
		for _, say := range says {
			p.Expect(got.Out).To(ContainSubstring(say), format)
		}
	}
}

// The folder is written alone where it needs nothing else, and with the rest where it does.
func TestAKustomizationMayNameWhatLiesBesideItsFolder(t *testing.T) {
	p := newProject(t)
	files := map[string]string{
		"config/crd/kustomization.yaml": "resources: [../bases]\nlabels: [{pairs: {a: b}}]\n", "config/bases/kustomization.yaml": "resources: [w.yaml]\n",
		"config/bases/w.yaml": crd("v1beta1 served,stored a: {type: string}"),
	}
	p.release("v1.0.0", "2024-01-01", files)
	changed := maps.Clone(files)
	changed["config/bases/w.yaml"] = crd("v1beta1 served,stored")
	p.release("v1.1.0", "2024-02-01", changed)
	p.release("v1.2.0", "2024-02-01", map[string]string{"config/crd/kustomization.yaml": "resources: [../nowhere]\n"})
	got := p.run()
	p.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	p.Expect(got.Out).To(And(ContainSubstring("FieldRemoved  widgets.example.com v1beta1 spec.a"), ContainSubstring("note: v1.2.0: config/crd is not built")))
}

func TestARepositoryWithoutTagsIsReported(t *testing.T) {
	p := newProject(t)
	p.write(map[string]string{bases: crd("v1 served,stored")})
	p.git("", "add", "-A")
	p.git("2024-01-01", "commit", "-q", "-m", "one")
	p.Expect(p.run().ErrOut).To(ContainSubstring("the repository has no tags; fetch them with `git fetch --tags`"))
}

// Two hundred fields that go are two hundred findings for a program, and one sentence for a person.
func TestWhatIsAlikeIsReportedOnce(t *testing.T) {
	p := newProject(t)
	fields := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("f%d: {type: string}", i))
		}
		return crd("v1 served,stored kept: {type: integer}, " + strings.Join(all, ", "))
	}
	p.release("v1.0.0", "2024-02-01", map[string]string{bases: fields(9)})
	p.release("v1.1.0", "2024-03-01", map[string]string{bases: fields(1)})
	got := p.run()
	p.Expect(strings.Count(got.Out, "FieldRemoved")).To(Equal(1), got.Out)
	p.Expect(got.Out).To(And(ContainSubstring("FieldRemoved  widgets.example.com v1 spec.f1 "), ContainSubstring("\n    and so spec.f2, spec.f3, spec.f4, spec.f5, spec.f6 and 2 more\n"), ContainSubstring(": 8 errors, ")))
	got = p.run("-o", "json")
	p.Expect(strings.Count(got.Out, `"FieldRemoved"`)).To(Equal(8))
}

// What a tag of long ago names may be somebody else's now.
func TestNothingIsFetched(t *testing.T) {
	p := newProject(t)
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	t.Cleanup(server.Close)
	content := map[string]string{bases: crd("v1 served,stored size: {type: integer}"), "config/crd/kustomization.yaml": "resources: [bases/widgets.yaml, " + server.URL + "/more.yaml]\n"}
	p.release("v1.0.0", "2024-02-01", content)
	p.release("v1.1.0", "2024-03-01", map[string]string{bases: crd("v1 served,stored size: {type: string}")})
	got := p.run()
	p.Expect(got.Out).To(And(ContainSubstring("note: v1.0.0: config/crd is not built, and its files are read as they are: "), ContainSubstring("FieldTypeChanged")))
	p.Expect(asked).To(BeEmpty())
}

func TestAShallowCloneSaysHowToFetchTheRest(t *testing.T) {
	p := strimzi(t)
	p.release("v1.3.0", "2024-06-01", nil)
	here, err := os.Getwd()
	p.Expect(err).NotTo(HaveOccurred())
	clone := filepath.Join(t.TempDir(), "clone")
	p.git("", "clone", "-q", "--depth", "1", "file://"+here, clone)
	got := p.run(clone)
	p.Expect(got.Code).To(Equal(cli.ExitError))
	p.Expect(got.ErrOut).To(And(ContainSubstring("there are no two releases to compare"), ContainSubstring("git fetch --unshallow --tags")))
}

// What an attack has shown: nothing was said, and something was wrong.
func TestWhatIsNotReadIsSaid(t *testing.T) {
	stored, gone := crd("v1beta1 served,deprecated", "v1 served,stored"), crd("v1 served,stored")
	for name, c := range map[string]struct {
		first, next map[string]string
		more        func(project)
		code        int
		said        string
	}{
		"the work tree is of today":  {map[string]string{bases: stored}, map[string]string{bases: gone}, func(project) {}, cli.ExitNotDone, "RemovedTooSoon"},
		"a link":                     {map[string]string{bases: gone, "api/w.yaml": stored}, map[string]string{}, func(p project) { p.Expect(os.Symlink("../../../api/w.yaml", "config/crd/bases/l.yaml")).To(Succeed()) }, cli.ExitUnknown, "note: next: config/crd/bases/l.yaml is a symbolic link, which is not followed"},
		"a folder hides another one": {map[string]string{"modules/dep/config/crd/x.yaml": strings.ReplaceAll(gone, "widgets", "gadgets"), "charts/w/Chart.yaml": "name: w", "charts/w/crds/w.yaml": stored}, map[string]string{"charts/w/crds/w.yaml": gone}, func(project) {}, cli.ExitUnknown, "only the CRDs of modules/dep/config/crd are judged, and not widgets.example.com in charts/w/crds/w.yaml"},
		"a file that is no YAML":     {map[string]string{bases: gone}, map[string]string{"config/crd/x.yaml": "{{ if .Values.x }}\n" + stored}, func(project) {}, cli.ExitUnknown, "not all CRDs were looked at: next: config/crd/x.yaml"},
		"beside an error":            {map[string]string{bases: stored}, map[string]string{bases: gone, "config/crd/x.yaml": "{{ if .Values.x }}\n" + stored}, func(project) {}, cli.ExitNotDone, "RemovedTooSoon"},
		"a CRD is there twice":       {map[string]string{bases: stored}, map[string]string{bases: stored + "---\n" + gone}, func(project) {}, cli.ExitDone, "widgets.example.com is twice in config/crd"},
		"a policy that leads out of the repository": {map[string]string{bases: stored}, map[string]string{bases: gone, ".moult/a": "a"}, func(p project) {
			p.Expect(os.Symlink("/dev/zero", ".moult/versions.yaml")).To(Succeed())
		}, cli.ExitError, "is not followed"},
		"a policy that asks for less": {map[string]string{bases: stored}, map[string]string{bases: gone, deprecation.PolicyFile: "windows: {beta: {releases: 0, days: 0}}\nseverities: {NeverDeprecated: \"off\", FieldRemoved: info}\n"}, func(project) {}, cli.ExitDone,
			"note: the policy asks for less than Kubernetes' own: the window of beta versions is nothing; off: NeverDeprecated; milder: FieldRemoved"},
		"a name that is a command": {map[string]string{bases: strings.Replace(stored, "{name: widgets.example.com}", `{name: "w\e[31m\n::error::.example.com"}`, 1)}, map[string]string{bases: strings.Replace(gone, "{name: widgets.example.com}", `{name: "w\e[31m\n::error::.example.com"}`, 1)}, func(project) {}, cli.ExitNotDone,
			"RemovedTooSoon  w [31m ::error::.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.release("v1.0.0", "2024-02-01", c.first)
			p.release("v1.1.0", time.Now().Format(time.DateOnly), nil)
			p.write(c.next)
			c.more(p)
			got := p.run()
			p.Expect(got.Code).To(Equal(c.code), got.Out+got.ErrOut)
			p.Expect(got.Out + got.ErrOut).To(ContainSubstring(c.said))
			p.Expect(got.Out).NotTo(ContainSubstring("\x1b"))
		})
	}
}

// The author of a pull request, who may work in a fork, could accept what it breaks.
func TestAPullRequestDoesNotAcceptItsOwnErrors(t *testing.T) {
	stored, gone := crd("v1beta1 served,deprecated", "v1 served,stored"), crd("v1 served,stored")
	const yes = "accept: [{rule: RemovedTooSoon, crd: widgets.example.com, reason: nobody has used it}]\n"
	const note = ".moult/versions.yaml differs from that of v1.1.0"
	for name, c := range map[string]struct {
		base, next map[string]string
		args       []string
		code       int
		notes      int
	}{
		"the base accepts it":                 {map[string]string{deprecation.PolicyFile: yes}, map[string]string{}, []string{"--base", "v1.1.0"}, cli.ExitDone, 0},
		"the work tree does":                  {nil, map[string]string{deprecation.PolicyFile: yes}, []string{"--base", "v1.1.0"}, cli.ExitNotDone, 1},
		"the work tree does, and has no base": {nil, map[string]string{deprecation.PolicyFile: yes}, nil, cli.ExitDone, 0},
		"the work tree breaks the base's":     {map[string]string{deprecation.PolicyFile: yes}, map[string]string{deprecation.PolicyFile: "x"}, []string{"--base", "v1.1.0"}, cli.ExitDone, 1},
		"a base that there is not":            {nil, map[string]string{}, []string{"--base", "v9"}, cli.ExitError, 0},
		"with a policy that is named":         {nil, map[string]string{deprecation.PolicyFile: yes}, []string{"--base", "v1.1.0", "--policy", deprecation.PolicyFile}, cli.ExitError, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.release("v1.0.0", "2024-02-01", map[string]string{bases: stored})
			p.release("v1.1.0", time.Now().Format(time.DateOnly), c.base)
			p.write(map[string]string{bases: gone})
			p.write(c.next)
			got := p.run(c.args...)
			p.Expect(got.Code).To(Equal(c.code), got.Out+got.ErrOut)
			p.Expect(strings.Count(got.Out, note)).To(Equal(c.notes), got.Out)
		})
	}
}

func TestNothingNewIsNoError(t *testing.T) {
	p := strimzi(t)
	p.release("v1.3.0", "2024-06-01", nil)
	got := p.run("--newest")
	p.Expect(got.Code).To(Equal(cli.ExitDone), got.Out)
	p.Expect(p.run().Code).To(Equal(cli.ExitNotDone))
}
