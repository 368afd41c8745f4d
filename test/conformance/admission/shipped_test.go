package admission

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/moult-dev/moult/test/running"
)

// answer is what a client is told.
type answer struct {
	err      error
	warnings []string
}

// play writes a case as a dry run, for a user who may do anything and is in these groups.
func (k kase) play(t *testing.T, groups ...string) answer {
	t.Helper()
	heard := &warnings{}
	cfg := rest.CopyConfig(cp.Config)
	cfg.WarningHandler = heard
	cfg.Impersonate = rest.ImpersonationConfig{UserName: person, Groups: append([]string{"system:masters"}, groups...)}
	if k.by != "" {
		cfg.Impersonate.UserName = k.by
	}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		heard.texts = nil
		return k.write(t, cfg)
	})
	return answer{err, heard.texts}
}

func (k kase) write(t *testing.T, cfg *rest.Config) error {
	t.Helper()
	c, dryRun := crdClient(t, cfg), []string{metav1.DryRunAll}
	live, err := c.Get(t.Context(), nameOf(k.on), metav1.GetOptions{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	if k.do != nil {
		k.do(live)
	}
	switch k.at {
	case main:
		_, err = c.Update(t.Context(), live, metav1.UpdateOptions{DryRun: dryRun})
	case status:
		_, err = c.UpdateStatus(t.Context(), live, metav1.UpdateOptions{DryRun: dryRun})
	case creation:
		_, err = c.Create(t.Context(), live, metav1.CreateOptions{DryRun: dryRun})
	case deletion:
		err = c.Delete(t.Context(), live.Name, metav1.DeleteOptions{DryRun: dryRun})
	case deletionOfAll:
		err = c.DeleteCollection(t.Context(), metav1.DeleteOptions{DryRun: dryRun},
			metav1.ListOptions{FieldSelector: "metadata.name=" + live.Name})
	default:
		t.Fatalf("nothing can be written at %q", k.at)
	}
	return err
}

// warnings keeps what the API server warns of.
type warnings struct{ texts []string }

func (w *warnings) HandleWarningHeader(_ int, _, text string) { w.texts = append(w.texts, text) }

// brokenRule is what the API server says of a broken rule, in an error or in a warning; empty if there is none.
func brokenRule(said []string) string {
	i := slices.IndexFunc(said, func(s string) bool { return strings.Contains(s, "ValidatingAdmissionPolicy '") })
	if i < 0 {
		return ""
	}
	return said[i]
}

func TestBrokenRulesAreDenied(t *testing.T) {
	buildStates(t)
	installShipped(t, denying)
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			g, told := NewWithT(t), k.play(t)
			g.Expect(told.warnings).To(BeEmpty())
			if k.breaks == "" {
				g.Expect(told.err).NotTo(HaveOccurred())
				return
			}
			// Never 422: that is what kubectl, Argo CD and Flux with force answer by deleting the CRD.
			g.Expect(told.err).To(MatchError(apierrors.IsForbidden, "IsForbidden"))
			g.Expect(told.err).To(MatchError(ContainSubstring("ValidatingAdmissionPolicy '" + k.breaks + "' with binding '" + k.breaks + "' denied request: CRD " + nameOf(k.on) + ": ")))
			g.Expect(told.err).To(MatchError(ContainSubstring(k.says)))
		})
	}
	t.Run("the audit log tells of all", func(t *testing.T) { expectAudited(t, "Deny") })
}

func TestBrokenRulesAreWarnedOf(t *testing.T) {
	buildStates(t)
	installShipped(t, warning)
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			g, told := NewWithT(t), k.play(t)
			g.Expect(told.err).NotTo(HaveOccurred())
			if k.breaks == "" {
				g.Expect(told.warnings).To(BeEmpty())
				return
			}
			g.Expect(brokenRule(told.warnings)).To(ContainSubstring("Validation failed for ValidatingAdmissionPolicy '" + k.breaks + "' with binding '" + k.breaks + "': CRD " + nameOf(k.on) + ": "))
			g.Expect(brokenRule(told.warnings)).To(ContainSubstring(k.says))
		})
	}
	t.Run("the audit log tells of all", func(t *testing.T) { expectAudited(t, "Warn") })
}

// expectAudited waits until the audit log has each broken rule, with the action that the binding takes.
func expectAudited(t *testing.T, action string) {
	t.Helper()
	NewWithT(t).Eventually(func() (missing []string) {
		for name, k := range cases {
			if k.breaks != "" && !audit.tells(`\"policy\":\"`+k.breaks+`\"`, nameOf(k.on), `\"`+action+`\"`) {
				missing = append(missing, name)
			}
		}
		return missing
	}, running.Soon).Should(BeEmpty())
}

// Without the policies every case goes through, so what is denied above is denied by them.
func TestNothingElseDeniesTheCases(t *testing.T) {
	buildStates(t)
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(k.play(t).err).NotTo(HaveOccurred())
		})
	}
}
