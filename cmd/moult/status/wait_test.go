package status

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

func TestWaitEndsWhenAllIsMigrated(t *testing.T) {
	w := suite.World(t, 0)
	said := make(chan struct{})
	time.AfterFunc(time.Second, func() {
		defer close(said)
		w.Says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "done", 0)
	})
	got := w.Run("wait", w.CRD.Name, "--timeout", "1m")
	<-said // the command may see it before the writer has its answer
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(got.Out).To(BeEmpty())
}

func TestWaitPrintsTheLastStateWhenTheTimeIsOver(t *testing.T) {
	w := suite.World(t, 0)
	w.Says(apiextensionsv1.ConditionFalse, v1alpha1.ReasonPaused, "paused; remove the annotation moult.dev/paused to go on", 0)
	got := w.Run("wait", w.CRD.Name, "--timeout", "1s", "-o", "json")
	w.Expect(got.Code).To(Equal(cli.ExitNotDone))
	w.Expect(got.ErrOut).To(MatchRegexp(`moult: not migrated after 1s\n  .*: Paused: .*remove the annotation moult.dev/paused to go on\n$`))
	w.Expect(got.Out).To(And(ContainSubstring(`"done": false`), ContainSubstring(`"reason": "Paused"`)))
}

// calls has somebody write the condition VersionsRemovable.
func calls(w *clitest.World, manager, versions string, behind int64) {
	w.T.Helper()
	body := fmt.Sprintf(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "status": {"conditions": [
		{"type": %q, "status": "True", "reason": "SafeToRemove", "message": %q, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`,
		v1alpha1.VersionsRemovable, v1alpha1.Message(w.Live().Generation-behind, versions))
	_, err := w.CRDs().Patch(w.T.Context(), w.CRD.Name, types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: manager, Force: new(true)}, "status")
	w.Expect(err).NotTo(HaveOccurred())
}

func TestWaitForVersionsThatMayBeRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		manager, versions string
		behind            int64
		args              []string
		code              int
		says              string
	}{
		"the version is one of them":          {versions: "v1alpha1, v1beta1", args: []string{"--version", "v1alpha1"}, code: cli.ExitDone},
		"any of them":                         {versions: "v1alpha1", code: cli.ExitDone},
		"the CRD does not have it":            {versions: "v1alpha1", args: []string{"--version", "v0"}, code: cli.ExitDone},
		"it is not one of them":               {versions: "v1beta1", args: []string{"--version", "v1alpha1"}, code: cli.ExitNotDone, says: "not removable after 1s"},
		"they were, before the CRD changed":   {versions: "v1alpha1", behind: 1, code: cli.ExitNotDone, says: "not removable after 1s"},
		"somebody else says so":               {versions: "v1alpha1", manager: "kubectl", code: cli.ExitNotDone, says: "was not written by Moult"},
		"it is asked for what is not offered": {versions: "v1alpha1", args: []string{"--for", "ready"}, code: cli.ExitError, says: "--for ready is none of migrated, removable"},
	} {
		t.Run(name, func(t *testing.T) {
			w := suite.World(t, 0)
			manager := c.manager
			if manager == "" {
				manager = v1alpha1.FieldManagerOf(v1alpha1.RemovalFieldManager, w.Label)
			}
			calls(w, manager, c.versions, c.behind)
			got := w.Run(append([]string{"wait", w.CRD.Name, "--for", "removable", "--timeout", "1s"}, c.args...)...)
			w.Expect(got.Code).To(Equal(c.code), got.ErrOut)
			w.Expect(got.ErrOut).To(ContainSubstring(c.says))
		})
	}
}
