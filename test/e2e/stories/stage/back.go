package stage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/story"
)

// Release is a CRD of the examples as a release had it that knew the old version alone.
func Release(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(Path(name))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return edited(t, string(content), func(versions []any) []any {
		return slices.DeleteFunc(versions, func(v any) bool { return v.(map[string]any)["name"] != OldVersion })
	})
}

// edited is the manifest of a CRD with other versions.
func edited(t *testing.T, manifest string, change func(versions []any) []any) string {
	t.Helper()
	g := NewWithT(t)
	crd := map[string]any{}
	g.Expect(yaml.Unmarshal([]byte(manifest), &crd)).To(Succeed())
	spec := crd["spec"].(map[string]any)
	spec["versions"] = change(spec["versions"].([]any))
	text, err := yaml.Marshal(crd)
	g.Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// WayBack asks `moult plan` about the way back to the old version.
type WayBack struct {
	*Planner
	// release is the CRD of the release to go back to. It lies where the shell is, too.
	release string
	shell   *Shell
}

// NewWayBack has the CRD of the release to go back to.
func (s *Stage) NewWayBack(t *testing.T, release string) *WayBack {
	t.Helper()
	g := NewWithT(t)
	w := &WayBack{Planner: s.NewPlanner(t), release: release, shell: NewShell(t, t.TempDir(), nil)}
	place := filepath.Join(w.shell.folder, "release-1")
	g.Expect(os.Mkdir(place, 0o755)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(place, "crd.yaml"), []byte(release), 0o600)).To(Succeed())
	w.flags = []string{"--back-to", OldVersion, "--release", place}
	w.asked = map[runbook.Name]string{
		runbook.Serve:   "in place of the CRD, " + CRD + "-between.yaml of this command, which stores as before",
		runbook.Flip:    "storage: true at " + OldVersion,
		runbook.Unserve: "served: false at " + NewVersion,
		runbook.Ask:     "one commit, with spec.versions without " + NewVersion + ", as the CRD of " + place + " has it, and with this",
	}
	return w
}

// Follow does what the plan says until nothing is left, as Planner does. The CRD of each commit is what the step's command prints,
// or that of the commit before with the change that the plan asks for, and in the end that of the release.
func (w *WayBack) Follow(t *testing.T, s *story.Story, commit func(step runbook.Name, crd, gate string)) (committed []runbook.Name) {
	t.Helper()
	crd := ""
	return w.Planner.Follow(t, s, func(step runbook.Step, gate string) {
		switch step.Name { //nolint:exhaustive // the others make no commit
		case runbook.Serve:
			crd = w.printed(t, step.Commands[0])
		case runbook.Flip:
			crd = edited(t, crd, set("storage", OldVersion, true, NewVersion, false))
		case runbook.Unserve:
			crd = edited(t, crd, set("served", OldVersion, true, NewVersion, false))
		case runbook.Ask:
			crd = w.release
		}
		commit(step.Name, crd, gate)
	})
}

// set gives a field of two versions a value.
func set(field, one string, is bool, other string, isThere bool) func([]any) []any {
	return func(versions []any) []any {
		for _, v := range versions {
			switch version := v.(map[string]any); version["name"] {
			case one:
				version[field] = is
			case other:
				version[field] = isThere
			}
		}
		return versions
	}
}

// printed runs a command of the plan in a shell, and is the file that it writes.
func (w *WayBack) printed(t *testing.T, line string) string {
	t.Helper()
	w.shell.MustRun(line)
	_, file, _ := strings.Cut(line, " > ")
	content, err := os.ReadFile(filepath.Join(w.shell.folder, file))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// NoGarden is a check: the Widget of the example is not there, since a commit has left it out.
func (s *Stage) NoGarden() story.Check {
	return func(ctx context.Context) (string, bool, error) {
		_, err := cluster.Get(ctx, s.Client, group+"/"+OldVersion, widgetKind, Namespace, Garden)
		if apierrors.IsNotFound(err) {
			return "no garden", true, nil
		}
		return fmt.Sprintf("the garden is there (error: %v)", err), false, err
	}
}
