package admission

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// overlay renders the project's folder deny with more lines in a kustomization around it.
func overlay(t *testing.T, lines string) []*unstructured.Unstructured {
	t.Helper()
	g, dir := NewWithT(t), t.TempDir()
	here, err := filepath.Abs(denying)
	g.Expect(err).NotTo(HaveOccurred())
	deny, err := filepath.Rel(dir, here)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("resources: ["+deny+"]\n"+lines), 0o600)).To(Succeed())
	return render(t, dir)
}

// snippet is the YAML behind a comment of the page that tells people to use it.
func snippet(t *testing.T, comment string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/policies.md")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	_, after, found := strings.Cut(string(page), "<!-- "+comment+" -->\n```yaml\n")
	NewWithT(t).Expect(found).To(BeTrue(), comment)
	lines, _, _ := strings.Cut(after, "```")
	return lines
}

func TestAPolicyCanBeLeftOut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	left := overlay(t, snippet(t, "leave one out"))
	g.Expect(left).To(HaveLen(len(render(t, denying)) - 2))
	for _, o := range left {
		g.Expect(o.GetName()).NotTo(Equal(storagePolicy))
	}
}

func TestAnotherServiceAccountTakesOnePatch(t *testing.T) {
	t.Parallel()
	buildStates(t)
	user := "another-service-account"
	install(t, scope(overlay(t, snippet(t, "another ServiceAccount")), "-"+user, "'"+user+"' in request.userInfo.groups"))
	for name, c := range map[string]struct{ by, breaks string }{
		"the one that the patch names":        {by: "system:serviceaccount:platform:moult"},
		"the one that is not there any more":  {by: moult, breaks: statusPolicy},
		"the in-tree migrator is still there": {by: inTree},
	} {
		t.Run(name, func(t *testing.T) {
			told := kase{on: "flipped", at: status, by: c.by, do: all(inTreeSays("MigrationSucceeded"), storedVersions("v1"))}.play(t, user)
			if c.breaks == "" {
				NewWithT(t).Expect(told.err).NotTo(HaveOccurred())
				return
			}
			NewWithT(t).Expect(told.err).To(MatchError(ContainSubstring(c.breaks)))
		})
	}
}

func TestBindingsFollowAPrefix(t *testing.T) {
	t.Parallel()
	g, bound := NewWithT(t), 0
	for _, o := range overlay(t, "namePrefix: another-\n") {
		g.Expect(o.GetName()).To(HavePrefix("another-moult-"))
		if name, binding, _ := unstructured.NestedString(o.Object, "spec", "policyName"); binding {
			g.Expect(name).To(Equal(o.GetName()))
			bound++
		}
	}
	g.Expect(bound).To(Equal(5))
}
