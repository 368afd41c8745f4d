package doctor

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/lua"
	"github.com/moult-dev/moult/policies/finding"
)

const (
	widgets    = "widgets.example.com"
	controller = "system:serviceaccount:moult-system:moult-controller"
)

func TestAHealthyCluster(t *testing.T) {
	g := NewWithT(t)
	report := Examine(healthy())
	g.Expect(report.OK).To(BeTrue())
	g.Expect(report.Checks).To(HaveLen(len(checks)))
	for _, r := range report.Checks {
		g.Expect(r.Outcome).To(Equal(Passed), "%s", r.ID)
		g.Expect(r.Evidence).NotTo(BeEmpty(), "%s", r.ID)
		g.Expect(r.Findings).To(BeEmpty(), "%s", r.ID)
	}
	raw, err := json.Marshal(report)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(raw)).To(HavePrefix(`{"ok":true,"checks":[{"id":"label-in-git","outcome":"passed","evidence":"the label is in what is applied by Flux","findings":[]}`))
}

func TestEachCheckFinds(t *testing.T) {
	inTree := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	for name, c := range map[string]struct {
		ill      func(*ClusterState)
		id       ID
		severity finding.Severity
		evidence string
		fix      string
	}{
		"no CRD at all": {func(s *ClusterState) { s.CRDs = nil }, LabelInGit, finding.Error, "no CRD carries the label moult.dev/migrate", "moult opt-in"},
		"a CRD without the label": {func(s *ClusterState) { s.CRDs[0].Labels = nil }, LabelInGit, finding.Error,
			"does not carry the label", "manifest in Git"},
		"a label that a sync takes off": {func(s *ClusterState) {
			s.CRDs[0].ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(`{}`)
			owned(s.CRDs[0].CustomResourceDefinition, "kubectl-label", "", labelField(s.LabelKey))
		}, LabelInGit, finding.Error, "only on the live object: field manager \"kubectl-label\" (Update) set it, and Flux undoes what kubectl has set", "manifest in Git"},
		"a label that only a rebuilt cluster loses": {func(s *ClusterState) {
			s.CRDs[0].ManagedFields = nil
			owned(s.CRDs[0].CustomResourceDefinition, "kubectl-label", "", labelField(s.LabelKey))
		}, LabelInGit, finding.Warning, "a rebuilt cluster would not have it", "manifest in Git"},
		"a label from who knows where": {func(s *ClusterState) { s.CRDs[0].ManagedFields = nil }, LabelInGit, finding.Info, "the CRD does not show", "if it is not in Git"},
		"an operator applies the CRD": {func(s *ClusterState) {
			s.CRDs[0].ManagedFields = nil
			owned(s.CRDs[0].CustomResourceDefinition, "cilium-operator", "", `{"f:spec":{"f:versions":{}}}`)
		}, CRDInGit, finding.Warning, "field manager \"cilium-operator\" (Update) applies it, and Argo CD, Flux and Helm have left no trace, so no manifest in Git holds it", "examples/operator"},

		"nobody has looked at the CRD": {func(s *ClusterState) { s.CRDs[0].Generation = 4 }, Migrating, finding.Warning, "has not looked at generation 4", "moult-controller runs"},
		"a person has to act": {func(s *ClusterState) {
			says(s.CRDs[0].CustomResourceDefinition, apiextensionsv1.ConditionFalse, v1alpha1.ReasonForbidden, "a permission is missing")
		}, Migrating, finding.Error, "Forbidden: widgets.example.com: a permission is missing", "add the rule"},
		"a person has paused it": {func(s *ClusterState) {
			says(s.CRDs[0].CustomResourceDefinition, apiextensionsv1.ConditionFalse, v1alpha1.ReasonPaused, "paused")
		}, Migrating, finding.Warning, "Paused", "remove the annotation"},

		"another Moult writes the condition": {func(s *ClusterState) {
			owned(s.CRDs[0].CustomResourceDefinition, "moult:widgets.example.com/migrate", "status", conditionField)
		}, OtherMigrators, finding.Error, "another Moult, whose label is widgets.example.com/migrate", "leave one of the labels"},
		"the in-tree migrator says so on the CRD": {func(s *ClusterState) {
			s.CRDs[0].Status.Conditions = append(s.CRDs[0].Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{Type: "StorageMigrating", Status: "True"})
		}, OtherMigrators, finding.Warning, "Moult stands back", "wait"},
		"the in-tree migrator is told to work": {migrations(Migration{API: InTree, Name: "w", Resource: inTree}), OtherMigrators, finding.Warning,
			"Kubernetes' own migrator is at work on the CRD, too: its StorageVersionMigration w", "delete it"},
		"kube-storage-version-migrator is": {migrations(Migration{API: KSVM, Name: "w", Resource: inTree}), OtherMigrators, finding.Warning,
			"kube-storage-version-migrator is at work", "delete it"},
		"an in-tree migration that has failed": {func(s *ClusterState) {
			says(s.CRDs[0].CustomResourceDefinition, apiextensionsv1.ConditionFalse, v1alpha1.ReasonMigrating, "rewriting")
			migrations(Migration{API: InTree, Name: "w", Resource: inTree, Ended: true, Failed: "2/4 not yet migrated"})(s)
		}, OtherMigrators, finding.Warning, "StorageVersionMigration w (storagemigration.k8s.io) of Kubernetes' own migrator has failed: 2/4 not yet migrated. It removes old versions from status.storedVersions all the same",
			"leave the migration to Moult"},
		"an in-tree migration that is stuck": {func(s *ClusterState) {
			migrations(Migration{API: InTree, Name: "w", Resource: inTree, Changed: s.Now.Add(-11 * time.Minute)})(s)
		}, OtherMigrators, finding.Warning, "StorageVersionMigration w (storagemigration.k8s.io) of Kubernetes' own migrator has not ended, and nothing of it has changed for 11m", "delete the StorageVersionMigration"},
		"an in-tree migration that moves": {func(s *ClusterState) {
			migrations(Migration{API: InTree, Name: "w", Resource: inTree, Changed: s.Now.Add(-9 * time.Minute)})(s)
		}, OtherMigrators, finding.Warning, "is at work on the CRD, too", "wait until it has ended"},
		"Cluster API's migrator has been there": {func(s *ClusterState) { s.CRDs[0].Annotations = map[string]string{clusterAPI: "3"} }, OtherMigrators, finding.Info,
			"Cluster API's migrator", "take the CRD out of one"},

		"a gate that nobody has answered": {gatesAre(gate(2, v1alpha1.VersionRemovalStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{condition("Ready", "True", "SafeToRemove")}})),
			Gates, finding.Warning, "no controller has answered it", "--gate-namespaces leaves out apps"},
		"a gate that needs a commit": {gatesAre(gate(1, v1alpha1.VersionRemovalStatus{ObservedGeneration: 1,
			Conditions: []metav1.Condition{condition("Ready", "False", "NotOptedIn"), condition("Stalled", "True", "NotOptedIn")},
			Blockers:   []v1alpha1.Blocker{{Kind: "NotOptedIn", Message: "it lacks the label", Action: "add it"}}})),
			Gates, finding.Error, "NotOptedIn: it lacks the label", "add it"},
		"a gate that waits for a person": {gatesAre(gate(1, v1alpha1.VersionRemovalStatus{ObservedGeneration: 1,
			Conditions: []metav1.Condition{condition("Ready", "False", "ObjectsFailed")},
			Blockers:   []v1alpha1.Blocker{{Kind: "ObjectsFailed", Message: "default/x", Action: "fix it"}}})),
			Gates, finding.Warning, "ObjectsFailed: default/x", "fix it"},
		"a gate beside a policy that will stop": {gatesAre(gate(1, v1alpha1.VersionRemovalStatus{ObservedGeneration: 1,
			Conditions: []metav1.Condition{condition("Ready", "True", "SafeToRemove")},
			Warnings:   []v1alpha1.Blocker{{Kind: "admission-policies", Message: "stops silently: 1 field", Action: "move it"}}})),
			Gates, finding.Warning, "admission-policies: stops silently: 1 field", "move it"},
		"a gate that could not look at everything": {gatesAre(gate(1, v1alpha1.VersionRemovalStatus{ObservedGeneration: 1,
			Conditions: []metav1.Condition{condition("Ready", "True", "SafeToRemove")},
			Warnings:   []v1alpha1.Blocker{{Kind: "ReferencesUnknown", Message: "not looked at: leases"}}})),
			Gates, finding.Info, "ReferencesUnknown: not looked at: leases", "--secrets` looks"},
		"a gate for a CRD that is not there": {gatesAre(gate(1, v1alpha1.VersionRemovalStatus{ObservedGeneration: 1,
			Conditions: []metav1.Condition{condition("Ready", "True", "NothingStored")}})), Gates, finding.Info, "because", "spelt"},

		"Argo CD has not been told, and there is no gate yet": {func(s *ClusterState) {
			s.ArgoCD.Value = []lua.Entry{{Key: "k", State: lua.Missing, Needed: true, Meaning: "makes a gate", Remediation: "list it"}}
		},
			ArgoCDHealth, finding.Warning, "k is missing: it makes a gate", "list it"},
		"Argo CD has not been told, and a gate holds nothing": {func(s *ClusterState) {
			s.ArgoCD.Value = []lua.Entry{{Key: "k", State: lua.Missing, Needed: true}}
			gatesAre(gate(1, v1alpha1.VersionRemovalStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{condition("Ready", "True", "SafeToRemove")}}))(s)
		}, ArgoCDHealth, finding.Error, "k is missing", ""},

		"an aggregated API server in front of the objects": {func(s *ClusterState) {
			s.CRDs[0].Aggregated.Value = []Aggregated{{APIService: "v1.example.com", Service: "apps/widgets"}}
		}, Aggregation, finding.Error, "APIService v1.example.com hands the requests for this version on to the aggregated API server behind Service apps/widgets", "delete the APIService"},

		"a Kubernetes newer than what is tested": {serverIs("v1.38.0-rc.1"), Kubernetes, finding.Warning, "the newest is 1.37", "newer Moult"},
		"a Kubernetes without MutatingAdmissionPolicy": {serverIs("v1.35.4-gke.100"), Kubernetes, finding.Info,
			"policies/admission/keep-label cannot be installed", "have the label in Git"},

		"an object whose version has left": {unreadables(Unreadable{Name: "default/w-0", Why: "object not decodable: request to convert CR from an invalid group/version: example.com/v0"}), UnreadableObjects, finding.Error,
			"the API server cannot read 1 object from etcd, so it lists none, and the migration cannot end: default/w-0 (object not decodable: ", "put v0 back into spec.versions with served: false"},
		"objects that are garbage": {unreadables(Unreadable{Name: "default/w-0", Why: "invalid character"}, Unreadable{Name: "w-1", Why: "invalid character"}), UnreadableObjects, finding.Error,
			"cannot read 2 objects from etcd, so it lists none, and the migration cannot end: default/w-0 (invalid character); w-1 (invalid character)", "restore it in etcd from a backup, or delete it"},
		"an object that an older server does not name": {unreadables(Unreadable{Behind: "default/w-0", Why: "invalid character"}), UnreadableObjects, finding.Error,
			"the one that comes after default/w-0 in the order of namespaces and names, which Kubernetes names from 1.37 on (invalid character)", ""},
		"the first object, which an older server does not name": {unreadables(Unreadable{Why: "conversion webhook for x failed"}), UnreadableObjects, finding.Error,
			"the first one in the order of namespaces and names", "bring the conversion webhook up"},

		"objects that cannot die": {terminating(time.Hour, 7), StuckObjects, finding.Warning,
			"7 objects stuck in deletion: default/w-0 since 2026-01-02T02:04:05Z (finalizers: example.com/door)", "see that it works at v1"},

		"objects whose Namespace is gone": {lyingIn(map[string]int{"apps": 7, "gone": 3, "away": 1}), Namespaces, finding.Error,
			"4 objects in Namespaces that do not exist, so that no client can write them: away (1); gone (3)", "`kubectl delete widgets.example.com --all -n NAMESPACE` works"},
		"objects of which very many Namespaces are gone": {lyingIn(map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}), Namespaces, finding.Error,
			"6 objects in Namespaces that do not exist, so that no client can write them: a (1); b (1); c (1); d (1); e (1); and 1 more", "create the Namespaces again"},

		"an uninstall that would delete the CRD": {releases(release(1, "superseded", holds(true)), release(2, "deployed", holds(false))), HelmKeep, finding.Warning,
			"`helm uninstall` of release apps/widgets would delete the CRD and all its objects", "upgrade the release once"},
		"a keep that is only on the live CRD": {func(s *ClusterState) {
			s.CRDs[0].Annotations = map[string]string{keep: "keep"}
			releases(release(3, "deployed", holds(false)))(s)
		}, HelmKeep, finding.Error, "is on the live CRD only; `helm uninstall` of release apps/widgets reads its stored manifest (revision 3)", "upgrade the release once"},
		"a CRD that Helm never upgrades": {func(s *ClusterState) {
			s.CRDs[0].ManagedFields[0].Manager = "helm"
			releases(release(1, "deployed", inFiles))(s)
		}, HelmCRDs, finding.Warning, "installs once and never upgrades", "beside the chart"},

		"a deployed revision that uses what could go": {releases(release(1, "deployed", uses("v1alpha1"))), HelmHistory, finding.Warning,
			"holds 2 Widgets at v1alpha1 in its deployed revision 1; where that version is not served, `helm upgrade` and `helm uninstall` fail", "move the chart to v1"},
		"a deployed revision that uses what is to go": {func(s *ClusterState) {
			releases(release(1, "deployed", uses("v1alpha1")))(s)
			gatesAre(gate(1, v1alpha1.VersionRemovalStatus{}))(s)
		}, HelmHistory, finding.Error, "2 Widgets at v1alpha1", "upgrade the release once"},
		"a deployed revision that uses what is not served": {func(s *ClusterState) {
			releases(release(1, "deployed", uses("v1alpha1")))(s)
			s.CRDs[0].Spec.Versions[0].Served = false
		}, HelmHistory, finding.Error, "2 Widgets at v1alpha1", "while the version is served"},
		"a deployed revision that uses what is gone": {releases(release(1, "deployed", uses("v1alpha0"))), HelmHistory, finding.Error, "2 Widgets at v1alpha0", ""},
		"older revisions that use it": {releases(release(3, "deployed", uses("v1")), release(1, "superseded", uses("v1alpha1")), release(2, "superseded", uses("v1alpha1"))),
			HelmHistory, finding.Warning, "`helm rollback` of release apps/widgets to revision 1, 2 fails where v1alpha1 is not served", "roll forward"},
		"a failed upgrade is not what is deployed": {releases(release(2, "failed", uses("v1")), release(1, "deployed", uses("v1alpha1"))),
			HelmHistory, finding.Warning, "deployed revision 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := healthy()
			c.ill(&s)
			report := Examine(s)
			for _, r := range report.Checks {
				if r.ID != c.id {
					if r.ID != Gates && c.id != LabelInGit && c.id != CRDInGit { // what is a gate's is reported there, too
						g.Expect(r.Findings).To(BeEmpty(), "%s", r.ID)
					}
					continue
				}
				g.Expect(r.Findings).To(HaveLen(1))
				f := r.Findings[0]
				g.Expect(f.Severity).To(Equal(c.severity))
				g.Expect(f.Why).To(ContainSubstring(c.evidence))
				g.Expect(f.Remediation).To(ContainSubstring(c.fix))
				g.Expect(r.Outcome == Passed).To(Equal(c.severity == finding.Info))
			}
			g.Expect(report.OK).To(Equal(c.severity != finding.Error))
		})
	}
}

func TestWhatIsNoTrouble(t *testing.T) {
	for name, change := range map[string]func(*ClusterState){
		"a migration on its way": func(s *ClusterState) {
			says(s.CRDs[0].CustomResourceDefinition, apiextensionsv1.ConditionFalse, v1alpha1.ReasonMigrating, "rewriting")
		},
		"objects in Namespaces that exist":                        lyingIn(map[string]int{"apps": 7, "default": 1}),
		"objects in no Namespace":                                 lyingIn(map[string]int{"": 7}),
		"an object that has just been deleted":                    terminating(time.Second, 3),
		"a migration of another migrator that has ended":          migrations(Migration{API: KSVM, Resource: schema.GroupResource{Group: "example.com", Resource: "widgets"}, Ended: true}),
		"a failed migration, after which Moult has its own proof": migrations(Migration{API: InTree, Resource: schema.GroupResource{Group: "example.com", Resource: "widgets"}, Ended: true, Failed: "2/4"}),
		"a migration of another resource":                         migrations(Migration{API: InTree, Resource: schema.GroupResource{Group: "example.com", Resource: "gadgets"}}),
		"a gate that is open": gatesAre(gate(1, v1alpha1.VersionRemovalStatus{ObservedGeneration: 1,
			Conditions: []metav1.Condition{condition("Ready", "True", "SafeToRemove")}})),
		"Argo CD has been told":               func(s *ClusterState) { s.ArgoCD.Value = []lua.Entry{{Key: "k", State: lua.Installed}} },
		"a release that keeps its CRD":        releases(release(1, "deployed", holds(true))),
		"a release that has been uninstalled": releases(release(1, "uninstalled", holds(false), uses("v1alpha1"))),
		"a folder crds that Flux looks after": releases(release(1, "deployed", inFiles)),
		"a release with objects at v1":        releases(release(1, "deployed", uses("v1"))),
		"the like-named kind of somebody else's": releases(release(1, "deployed", func(r *Release) {
			r.Uses[schema.GroupVersionKind{Group: "other.com", Version: "v1alpha1", Kind: "Widget"}] = 1
		})),
	} {
		t.Run(name, func(t *testing.T) {
			s := healthy()
			change(&s)
			for _, r := range Examine(s).Checks {
				NewWithT(t).Expect(r.Outcome).To(Equal(Passed), "%s: %v", r.ID, r.Findings)
			}
		})
	}
}

func TestAMissingPermissionIsNoFailure(t *testing.T) {
	const why = "it needs list on something"
	for name, c := range map[string]struct {
		hide   func(*ClusterState)
		notRun []ID
		note   ID // the check that ran and could not see all
	}{
		"VersionRemovals": {func(s *ClusterState) { s.Gates.Not = why }, []ID{Gates}, ""},
		"all about the controller": {func(s *ClusterState) {
			s.Controller.Refusals.Not, s.Controller.Guards.Not, s.CRDs[0].Writable = why, why, Known[bool]{Not: why}
		}, []ID{StatusWrites}, ""},
		"Events":                     {func(s *ClusterState) { s.Controller.Refusals.Not = why }, nil, StatusWrites},
		"policies":                   {func(s *ClusterState) { s.Controller.Guards.Not = why }, nil, StatusWrites},
		"what the controller may do": {func(s *ClusterState) { s.CRDs[0].Writable = Known[bool]{Not: why} }, nil, StatusWrites},
		"argocd-cm":                  {func(s *ClusterState) { s.ArgoCD.Not = why }, []ID{ArgoCDHealth}, ""},
		"objects":                    {func(s *ClusterState) { hideObjects(&s.CRDs[0], why) }, []ID{Namespaces, UnreadableObjects, StuckObjects}, ""},
		"Namespaces":                 {func(s *ClusterState) { s.Namespaces.Not = why }, []ID{Namespaces}, ""},
		"the objects of one CRD": {func(s *ClusterState) {
			s.CRDs = append(s.CRDs, s.CRDs[0])
			hideObjects(&s.CRDs[1], why)
		}, nil, StuckObjects},
		"the server's version": {func(s *ClusterState) { s.Server = Known[string]{Not: why} }, []ID{Kubernetes}, ""},
		"the APIServices":      {func(s *ClusterState) { s.CRDs[0].Aggregated.Not = why }, []ID{Aggregation}, ""},
		"the APIServices of one CRD": {func(s *ClusterState) {
			s.CRDs = append(s.CRDs, s.CRDs[0])
			s.CRDs[1].Aggregated.Not = why
		}, nil, Aggregation},
		"releases":                  {func(s *ClusterState) { s.Releases.Not = why }, []ID{HelmKeep, HelmCRDs, HelmHistory}, ""},
		"other migrators' objects":  {func(s *ClusterState) { s.Migrations = []Known[[]Migration]{{Not: why}} }, nil, OtherMigrators},
		"a release that is not one": {func(s *ClusterState) { s.ReleasesNotSeen = []string{why} }, nil, HelmKeep},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := healthy()
			c.hide(&s)
			report := Examine(s)
			g.Expect(report.OK).To(BeTrue())
			var silent []ID
			for _, r := range report.Checks {
				if r.Outcome == NotRun {
					silent = append(silent, r.ID)
					g.Expect(r.Evidence).To(ContainSubstring(why))
				}
				if r.ID == c.note {
					g.Expect(r.NotSeen).To(ContainElement(ContainSubstring(why)))
				}
			}
			g.Expect(silent).To(Equal(c.notRun))
		})
	}
}

// A check that passes has a line of its own, which has to say something.
func TestWhatPassesSaysWhatWasSeen(t *testing.T) {
	g := NewWithT(t)
	unknown := healthy()
	unknown.CRDs[0].ManagedFields = nil // it is not known where the label is from
	for _, s := range []ClusterState{healthy(), unknown} {
		for _, r := range Examine(s).Checks {
			g.Expect(r.Outcome != Passed || r.Evidence != "").To(BeTrue(), string(r.ID))
		}
	}
	g.Expect(Examine(unknown).Checks[0].Evidence).To(Equal("the CRDs do not show whether the label is in Git"))
}

func TestAnOldKubernetesIsReportedWithAllThatItLacks(t *testing.T) {
	g := NewWithT(t)
	s := healthy()
	serverIs("v1.31.9")(&s)
	g.Expect(kubernetes(s).Findings).To(HaveExactElements(
		And(HaveField("Severity", finding.Warning), HaveField("Why", ContainSubstring("the oldest is 1.32"))),
		And(HaveField("Severity", finding.Info), HaveField("Why", ContainSubstring("MutatingAdmissionPolicy")))))
}

func TestAVersionThatIsNoneIsNotJudged(t *testing.T) {
	for _, version := range []string{"", "v2.0.0", "unknown"} {
		s := healthy()
		serverIs(version)(&s)
		r := kubernetes(s)
		NewWithT(t).Expect(r.Outcome).To(Equal(NotRun))
		NewWithT(t).Expect(r.Evidence).To(ContainSubstring("is not one of Kubernetes"))
	}
}
