package preview

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

func TestAStreamWithoutManifestsIsNoDeletion(t *testing.T) {
	for name, content := range map[string]string{"nothing": "", "comments": "# none\n---\n", "a scalar": "---\nError: chart not found\n"} {
		t.Run(name, func(t *testing.T) {
			_, err := openSide(t.Context(), "-", strings.NewReader(content))
			NewWithT(t).Expect(err).To(HaveOccurred())
		})
	}
	side, err := openSide(t.Context(), "-", strings.NewReader(widgetsCRD))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(side.stream.CRDs()).To(HaveLen(1))
}

// What fails here may be built where it is applied, so the pull request is not to blame for it.
func TestWhatCannotBeBuiltIsUnknown(t *testing.T) {
	const good, broken = "resources: [crd.yaml]\n", "resources: [crd.yaml, missing.yaml]\n"
	for name, c := range map[string]struct {
		base, head string
		code       int
		says       string
	}{
		"before and after":  {broken, broken, exitUnknown, "before this change or after it"},
		"before":            {broken, good, exitUnknown, "cannot be built before this change"},
		"after":             {good, broken, exitBlocked, "cannot be built"},
		"in different ways": {broken, "resources: [crd.yaml, other.yaml]\n", exitBlocked, "cannot be built before this change"},
	} {
		t.Run(name, func(t *testing.T) {
			g := clitest.InRepository(t, map[string]string{
				"base/clusters/production/apps.yaml": appsKustomization, "base/apps/crd.yaml": widgetsCRD, "base/apps/kustomization.yaml": c.base,
				"head/clusters/production/apps.yaml": appsKustomization, "head/apps/crd.yaml": widgetsCRD, "head/apps/kustomization.yaml": c.head,
			})
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(c.says))
		})
	}
}

// Which of two units has the last word nobody knows, and one of them still has the version.
func TestACRDThatTwoUnitsApplyDifferentlyIsBlocked(t *testing.T) {
	second := strings.NewReplacer("name: apps", "name: more", "path: apps", "path: more").Replace(appsKustomization)
	less := strings.Replace(widgetsCRD, "  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n", "", 1)
	files := map[string]string{}
	for _, side := range []string{"base", "head"} {
		files[side+"/clusters/production/apps.yaml"], files[side+"/clusters/production/more.yaml"] = appsKustomization, second
		files[side+"/apps/crd.yaml"], files[side+"/more/crd.yaml"] = widgetsCRD, widgetsCRD
	}
	files["head/apps/crd.yaml"] = less
	g := clitest.InRepository(t, files)
	code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
	g.Expect(code).To(Equal(exitBlocked), out+errOut)
	g.Expect(out).To(ContainSubstring("they differ"))
}

// While its Kustomization was suspended, a cluster may have stayed behind what Git says.
func TestWhatIsResumedIsAskedAboutAnew(t *testing.T) {
	rests := strings.Replace(appsKustomization, "prune: false", "prune: false\n  suspend: true", 1)
	for name, c := range map[string]struct {
		base, head string
		code       int
	}{
		"rests before and after": {rests, rests, exitSafe},
		"is resumed":             {rests, appsKustomization, exitUnknown},
		"goes on":                {appsKustomization, appsKustomization, exitSafe},
	} {
		t.Run(name, func(t *testing.T) {
			g := clitest.InRepository(t, map[string]string{
				"base/clusters/production/apps.yaml": c.base, "base/apps/crd.yaml": widgetsCRD,
				"head/clusters/production/apps.yaml": c.head, "head/apps/crd.yaml": widgetsCRD,
			})
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
			g.Expect(code).To(Equal(c.code), out+errOut)
		})
	}
}

const appsKustomization = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  interval: 1h
  path: apps
  prune: false
  sourceRef: {kind: GitRepository, name: flux-system}
`
