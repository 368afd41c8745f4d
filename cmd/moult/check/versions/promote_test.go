package versions

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/deprecation"
)

// promoted is an operator that is about to send its users to v1beta1, and lacks nothing for it.
func promoted(t *testing.T) project {
	t.Helper()
	p := newProject(t)
	const size = " size: {type: integer, description: how large}"
	p.release("v1.0.0", "2024-01-01", map[string]string{bases: crd("v1alpha1 served,stored" + size)})
	p.release("v1.1.0", "2024-06-01", map[string]string{
		bases:                        crd("v1alpha1 served,stored,deprecated"+size, "v1beta1 served"+size),
		"config/samples/widget.yaml": "apiVersion: example.com/v1beta1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 1}\n",
		"test/fixtures/release-1.0/example.com.v1alpha1.Widget.yaml": "apiVersion: example.com/v1alpha1\nkind: Widget\nmetadata: {name: a}\n",
	})
	return p
}

func TestTheChecklistOfAPromotion(t *testing.T) {
	p := promoted(t)
	got := p.run("--promote", "v1beta1")
	p.Expect(got.Code).To(Equal(cli.ExitUnknown), got.Out+got.ErrOut)
	p.Expect(got.ErrOut).To(HaveSuffix("moult: 2 of the criteria are not to be known from a repository; how to see to each is above, and --seen-to says that you have\n"))
	p.Expect(got.Out).To(Equal(`widgets.example.com  v1alpha1 → v1beta1
  shown: the version is served beside the one before
    v1.1.0 serves v1alpha1 and v1beta1
    $ kubectl get crd widgets.example.com -o jsonpath='{.spec.versions[?(@.served==true)].name}'
  shown: a release serves it before one stores it
    v1.1.0 serves both, and none stores at v1beta1 yet
    $ moult check versions
  shown: the fields have not changed incompatibly since its first release
    nothing incompatible since v1.1.0
    $ moult check versions
  shown: no field of the one before is missing
    v1beta1 has all fields of v1alpha1
    $ moult rehearse --crds config/crd/bases --objects config/samples
  shown: round trips are tested
    test/fixtures/release-1.0/example.com.v1alpha1.Widget.yaml is a fixture at v1alpha1
    $ moult test conversion test/fixtures --crds config/crd/bases
  shown: no field is alpha or behind a feature gate
    no description has alpha, experimental or feature gate
    $ kubectl explain widgets --api-version example.com/v1beta1 --recursive
  shown: status is a subresource
    v1beta1 has no status
    $ kubectl get crd widgets.example.com -o jsonpath='{.spec.versions[?(@.name=="v1beta1")].subresources}'
  shown: it has the printer columns of the one before
    v1beta1 has 0 columns, and v1alpha1 has 0 columns
    $ kubectl get crd widgets.example.com -o jsonpath='{.spec.versions[?(@.name=="v1beta1")].additionalPrinterColumns}'
  shown: samples are written at it
    config/samples/widget.yaml:1
    $ grep -rn example.com/v1beta1 config/samples examples docs
  shown: the one before is deprecated, with a warning
    clients at v1alpha1 are warned in the API server's own words
    $ kubectl get crd widgets.example.com -o jsonpath='{.spec.versions[?(@.name=="v1alpha1")].deprecated}'
  not to be known: objects were rehearsed
    the objects are in clusters
    $ moult rehearse --crds config/crd/bases --context CLUSTER
  not to be known: there is a backup before the flip
    it is made in each cluster, shortly before
    $ moult backup widgets.example.com -f backup.tar.gz

1 CRD of v1.1.0: 10 shown, 0 not shown, 2 not to be known
`))

	got = p.run("--promote", "v1beta1", "--seen-to", "objects were rehearsed", "--seen-to", "there is a backup before the flip")
	p.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	p.Expect(got.Out).To(And(ContainSubstring("  shown: objects were rehearsed\n    you say that you have seen to it (--seen-to)\n"), HaveSuffix("12 shown, 0 not shown, 0 not to be known\n")))
}

func TestAPromotionThatIsNotReady(t *testing.T) {
	p := promoted(t)
	p.write(map[string]string{"config/samples/widget.yaml": ""})
	got := p.run("--promote", "v1beta1", "--crd", "widgets.example.com")
	p.Expect(got.Code).To(Equal(cli.ExitNotDone))
	p.Expect(got.Out).To(ContainSubstring("  not shown: samples are written at it\n    no sample or document has an object at v1beta1\n"))
	p.Expect(got.ErrOut).To(HaveSuffix("moult: 1 of the criteria is not shown; which, and how to show it, is above\n"))
	for format, says := range map[string]string{
		"markdown": "- [ ] samples are written at it (not shown): `no sample or document has an object at v1beta1`",
		"junit":    `<failure message="no sample or document`,
		"json":     `"state": "not to be known"`,
	} {
		got := p.run("--promote", "v1beta1", "-o", format)
		p.Expect(got.Code).To(Equal(cli.ExitNotDone))
		p.Expect(got.Out).To(ContainSubstring(says))
		if format == "json" {
			var all deprecation.Promotions
			p.Expect(json.Unmarshal([]byte(got.Out), &all)).To(Succeed())
			p.Expect(all.CRDs).To(HaveLen(1))
		}
	}
	for says, args := range map[string][]string{
		"no CRD of v1.1.0 has v7 beside an older version": {"--promote", "v7"},
		"gadgets of v1.1.0 has v1beta1":                   {"--promote", "v1beta1", "--crd", "gadgets"},
		"--crd is for --promote only":                     {"--crd", "widgets.example.com"},
		"--seen-to is for --promote only":                 {"--seen-to", "objects were rehearsed"},
		`--seen-to "all" is no criterion; those are: the version is served beside the one before; `: {"--promote", "v1beta1", "--seen-to", "all"},
	} {
		got := p.run(args...)
		p.Expect(got.Code).To(Equal(cli.ExitError))
		p.Expect(got.ErrOut).To(ContainSubstring(says))
	}
}
