package install

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

const greenLabel = "green.example.com/migrate"

// side is one of two installations, and what is its own.
type side struct {
	*Installation
	widgets    *running.Witness
	namespace  string
	controller *Controller
}

// writes are the requests of a side that change something about the other's.
func (s *side) touches(other *side) []Request {
	return s.controller.Seen(func(r Request) bool {
		return r.Method != http.MethodGet && (strings.Contains(r.Path, other.widgets.GR.Group) ||
			strings.Contains(r.Path, "/namespaces/"+other.namespace+"/") || strings.Contains(r.Path, "/namespaces/"+other.Deployment.Namespace+"/"))
	})
}

func (s *side) ask(t *testing.T) func() string {
	t.Helper()
	g, c := NewWithT(t), running.Client(t, cp.Config)
	g.Expect(client.IgnoreAlreadyExists(c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}))).To(Succeed())
	removal := &v1alpha1.VersionRemoval{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, GenerateName: "gate-"},
		Spec:       v1alpha1.VersionRemovalSpec{CRDName: s.widgets.GR.String(), Versions: []string{"v1alpha1"}},
	}
	g.Expect(c.Create(t.Context(), removal)).To(Succeed())
	return func() string {
		_ = c.Get(t.Context(), client.ObjectKeyFromObject(removal), removal)
		return running.VerdictOf(removal)
	}
}

func TestTwoInstallationsLeaveOneAnotherAlone(t *testing.T) {
	g := NewWithT(t)
	blue := &side{Installation: Install(t, cp, "clusters/base"), namespace: "team-blue",
		widgets: flipped(t, "blue."+builders.UniqueGroup(t), "widgets", 40, v1alpha1.MigrateLabel)}
	green := &side{Installation: Install(t, cp, "clusters/second-install"), namespace: "team-green",
		widgets: flipped(t, "green."+builders.UniqueGroup(t), "widgets", 40, greenLabel)}
	blue.Grant("two-test-blue", lives(blue.widgets)...)
	green.Grant("two-test-green", lives(green.widgets)...)
	blue.inForce(t, "/apis/"+blue.widgets.GR.Group+"/v1/widgets", "moult-objects")
	green.inForce(t, "/apis/"+green.widgets.GR.Group+"/v1/widgets", "green-moult-objects")
	// VersionRemovals are objects of a labelled CRD, too. Without the label blue rewrites none, so each write to one is an answer.
	own := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "versionremovals.moult.dev"}}
	g.Expect(running.Client(t, cp.Config).Patch(t.Context(), own, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, v1alpha1.MigrateLabel)))).To(Succeed())
	blueGate, greenGate := blue.ask(t), green.ask(t)

	blue.controller = blue.Start("--gate-namespaces=" + blue.namespace)
	green.controller = green.Start()
	for _, s := range []*side{blue, green} {
		g.Eventually(s.widgets.Reason, running.Soon).Should(Equal(v1alpha1.ReasonMigrated), s.namespace)
		g.Expect(s.widgets.Stored()).To(Equal(map[string]int{"v1": 40}))
	}
	g.Eventually(blueGate, running.Soon).Should(Equal("True SafeToRemove"))
	g.Eventually(greenGate, running.Soon).Should(Equal("True SafeToRemove"))

	for _, pair := range [][2]*side{{blue, green}, {green, blue}} {
		one, other := pair[0], pair[1]
		g.Expect(one.touches(other)).To(BeEmpty(), "%s leaves %s alone", one.namespace, other.namespace)
		g.Expect(one.touches(one)).NotTo(BeEmpty(), "or the record would be worth nothing")
		g.Expect(one.controller.Seen(func(r Request) bool { return r.Code == http.StatusForbidden })).To(BeEmpty())
		mayNot := "/apis/" + other.widgets.GR.Group + "/v1/namespaces/default/widgets/object-00000"
		g.Expect(tried(t, one.Config(), http.MethodPatch, mayNot)).To(Equal(http.StatusForbidden))
	}
	g.Expect(managers(blue)).To(And(ContainElement(v1alpha1.FieldManager), Not(ContainElement(HavePrefix(v1alpha1.FieldManager+":")))))
	g.Expect(managers(green)).To(And(ContainElement(v1alpha1.FieldManager+":"+greenLabel), Not(ContainElement(v1alpha1.FieldManager))))
}

// managers are those who own something of a side's CRD.
func managers(s *side) (names []string) {
	for _, entry := range s.widgets.Live().ManagedFields {
		names = append(names, entry.Manager)
	}
	return names
}
