package repositories

import (
	"encoding/json"
	"flag"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// fewestDecided is the share of changes that touch no CRD and are called safe.
const fewestDecided = 0.95

// touches are what may be done to a file. What a touch does not change is left out.
var touches = map[string]func(s state, file string){
	"is deleted":            func(s state, file string) { delete(s, file) },
	"loses a version":       replacing("v1alpha1", "v9alpha9"),
	"has another version":   replacing("v1beta1", "v8beta8"),
	"says false, not true":  replacing("true", "false"),
	"says true, not false":  replacing("false", "true"),
	"names another kind":    replacing("kind: CustomResourceDefinition", "kind: ConfigMap"),
	"loses its last line":   func(s state, file string) { s[file] = withoutLast(s[file]) },
	"ends with another key": func(s state, file string) { s[file] += "# a comment\n" },
}

func replacing(old, text string) func(state, string) {
	return func(s state, file string) { s[file] = strings.Replace(s[file], old, text, 1) }
}

func withoutLast(content string) string {
	lines := strings.Split(strings.TrimRight(content, "\n"), "\n")
	return strings.Join(lines[:len(lines)-1], "\n") + "\n"
}

// allTouches has each touch done to each file, which takes many minutes; otherwise it is a part of them, the same each time.
var allTouches = flag.Bool("touches.all", false, "change each file of each repository in every way")

const oneOf = 4

func isSampled(name string) bool {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // a hash never fails
	return sum.Sum32()%oneOf == 0
}

// touched is what came of one change of one file.
type touched struct {
	of     string
	differ bool
	got    answer
}

// Each file of each repository is changed in turn. Whether a CRD that is delivered differs, Kustomize and Helm say.
func TestWhatTheToolsDeliverIsNeverMissed(t *testing.T) {
	var mu sync.Mutex
	var all []touched
	t.Run("in", func(t *testing.T) {
		for _, r := range readCorpus(t) {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				found := r.touchEach(t)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, found...)
			})
		}
	})
	g := NewWithT(t)
	same, safe := 0, 0
	for _, one := range all {
		if one.differ {
			g.Expect(one.got.verdict == "safe" && len(changedIn(one.got)) == 0).To(BeFalse(), "%s: a CRD differs, and the preview says: %s", one.of, one.got.all)
			continue
		}
		if same++; one.got.verdict == "safe" {
			safe++
		} else {
			t.Logf("undecided: %s: %s: %.400s", one.of, one.got.verdict, one.got.all)
		}
	}
	t.Logf("%d changes of a file, %d of which change a CRD; of the others %d are safe", len(all), len(all)-same, safe)
	g.Expect(float64(safe)).To(BeNumerically(">=", fewestDecided*float64(same)), "%d of %d", safe, same)
}

// touchEach does each touch to each file.
func (r repository) touchEach(t *testing.T) (found []touched) {
	r = r.served(t)
	dir := t.TempDir()
	base := filepath.Join(dir, "base")
	g := NewWithT(t)
	g.Expect(os.MkdirAll(base, 0o750)).To(Succeed())
	g.Expect(r.start.write(base)).To(Succeed())
	before := delivered(base)
	for _, file := range r.start.paths() {
		for _, name := range slices.Sorted(maps.Keys(touches)) {
			head := maps.Clone(r.start)
			touches[name](head, file)
			if maps.Equal(head, r.start) || !*allTouches && !isSampled(file+name) {
				continue
			}
			got := ofFolders(t, dir, pull{r.start, head})
			found = append(found, touched{r.name + ": " + file + " " + name, !maps.Equal(before, delivered(filepath.Join(dir, "head"))), got})
		}
	}
	return found
}

// changedIn are the CRDs that an answer says change.
func changedIn(a answer) []any {
	var report struct {
		CRDs []any `json:"crds"`
	}
	_ = json.NewDecoder(strings.NewReader(a.all)).Decode(&report) // what is no report names none
	return report.CRDs
}
