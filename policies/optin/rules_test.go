package optin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

const key = "moult.dev/migrate"

// object parses a manifest.
func object(t *testing.T, manifest string) *delivery.Object {
	t.Helper()
	content := map[string]any{}
	NewWithT(t).Expect(yaml.Unmarshal([]byte(manifest), &content)).To(Succeed())
	o := delivery.Wrap(content)
	o.At = func(fields ...string) finding.Place { return finding.Place{File: strings.Join(fields, ".")} }
	return o
}

// crd has metadata, its labels for example, as one line of YAML, and versions.
func crd(t *testing.T, metadata string, versions ...string) *delivery.Object {
	t.Helper()
	var list strings.Builder
	for _, v := range versions {
		fmt.Fprintf(&list, "  - {name: %s, schema: {openAPIV3Schema: {description: plain}}}\n", v)
	}
	return object(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: widgets.example.com\n  "+
		metadata+"\nspec:\n  group: example.com\n  versions:\n"+list.String())
}

const (
	kustomization = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: crds, namespace: flux-system}\nspec:\n  path: ./crds\n  "
	application   = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: crds, namespace: argocd}\nspec:\n  source: {path: crds}\n  "
	labelled      = `labels: {moult.dev/migrate: "true"}`
)

func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		metadata string // of a CRD with two versions, unless versions says otherwise
		versions []string
		delivery string // empty: not known
		config   string // argocd-cm's data
		unseen   bool
		want     []string // rule, severity, kind and field of each finding
		why      string
	}{
		"a labelled CRD is fine":                     {metadata: labelled},
		"a CRD with one version need not be":         {versions: []string{"v1"}},
		"several versions without the label":         {want: []string{"NotLabelled error CustomResourceDefinition metadata.labels.moult.dev/migrate"}, why: "it has 2 versions (v1alpha1, v1)"},
		"left out on purpose, nothing matters":       {metadata: `labels: {moult.dev/migrate: "false"}`, delivery: kustomization + "force: true"},
		"another value is no opt-in":                 {metadata: `labels: {moult.dev/migrate: "yes"}`, want: []string{"NotLabelled error CustomResourceDefinition metadata.labels.moult.dev/migrate"}, why: `is "yes", and only "true" opts in`},
		"a boolean is no label":                      {metadata: `labels: {moult.dev/migrate: true}`, want: []string{"NotLabelled error CustomResourceDefinition metadata.labels.moult.dev/migrate"}, why: "not a string"},
		"an annotation is no label":                  {metadata: `annotations: {moult.dev/migrate: "true"}`, want: []string{"NotLabelled error CustomResourceDefinition metadata.labels.moult.dev/migrate"}, why: "has to be a label"},
		"labels that are a list are none":            {metadata: `labels: [a]`, want: []string{"NotLabelled error CustomResourceDefinition metadata.labels.moult.dev/migrate"}},
		"one version and no label: force is no harm": {versions: []string{"v1"}, delivery: kustomization + "force: true"},

		"Flux may force":                      {metadata: labelled, delivery: kustomization + "force: true", want: []string{"Recreated error Kustomization spec.force"}, why: "all its objects are lost: widgets.example.com"},
		"Flux may not force":                  {metadata: labelled, delivery: kustomization + "force: false"},
		"Flux may force what is not seen":     {unseen: true, delivery: kustomization + "force: true", want: []string{"Recreated warning Kustomization spec.force"}, why: "the CRDs it may hold"},
		"Flux may force this CRD":             {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {kustomize.toolkit.fluxcd.io/force: Enabled}", want: []string{"Recreated error CustomResourceDefinition metadata.annotations.kustomize.toolkit.fluxcd.io/force"}},
		"the same as a label":                 {metadata: `labels: {moult.dev/migrate: "true", kustomize.toolkit.fluxcd.io/force: enabled}`, want: []string{"Recreated error CustomResourceDefinition metadata.labels.kustomize.toolkit.fluxcd.io/force"}},
		"Argo CD does not look at that":       {metadata: `labels: {moult.dev/migrate: "true", kustomize.toolkit.fluxcd.io/force: enabled}`, delivery: application},
		"Argo CD may force this CRD":          {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {argocd.argoproj.io/sync-options: 'ServerSideApply=true, Force=true'}", want: []string{"Recreated error CustomResourceDefinition metadata.annotations.argocd.argoproj.io/sync-options"}},
		"Flux does not look at that":          {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {argocd.argoproj.io/sync-options: Force=true}", delivery: kustomization},
		"an operation may force":              {metadata: labelled, delivery: application + "project: default\noperation: {sync: {syncStrategy: {apply: {force: true}}}}", want: []string{"Recreated error Application operation.sync.syncStrategy.apply.force"}},
		"Argo CD may replace":                 {metadata: labelled, delivery: application + "syncPolicy: {syncOptions: [CreateNamespace=true, Replace=true]}", want: []string{"Replaced error Application spec.syncPolicy.syncOptions.1"}, why: "each sync drops every label of the live CRD that Git does not have"},
		"Argo CD may replace this CRD":        {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {argocd.argoproj.io/sync-options: Replace=true}", want: []string{"Replaced error CustomResourceDefinition metadata.annotations.argocd.argoproj.io/sync-options"}},
		"Argo CD may apply on the server":     {metadata: labelled, delivery: application + "syncPolicy: {syncOptions: [ServerSideApply=true, Replace=false]}"},
		"an ApplicationSet's template is one": {metadata: labelled, delivery: "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: crds}\nspec: {template: {spec: {sources: [{path: crds}], syncPolicy: {syncOptions: [Replace=true]}}}}", want: []string{"Replaced error ApplicationSet spec.template.spec.syncPolicy.syncOptions.0"}},

		"Flux ignores the CRD":             {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {kustomize.toolkit.fluxcd.io/ssa: Ignore}", want: []string{"NotApplied error CustomResourceDefinition metadata.annotations.kustomize.toolkit.fluxcd.io/ssa"}},
		"Flux only creates the CRD":        {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {kustomize.toolkit.fluxcd.io/ssa: ifnotpresent}", want: []string{"NotApplied error CustomResourceDefinition metadata.annotations.kustomize.toolkit.fluxcd.io/ssa"}, why: "only where there is none"},
		"Flux merges the CRD":              {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {kustomize.toolkit.fluxcd.io/ssa: Merge}"},
		"Flux does not reconcile the CRD":  {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}", want: []string{"NotApplied error CustomResourceDefinition metadata.annotations.kustomize.toolkit.fluxcd.io/reconcile"}},
		"with Argo CD that means nothing":  {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {kustomize.toolkit.fluxcd.io/ssa: Ignore}", delivery: application},
		"Argo CD ignores labels":           {metadata: labelled, delivery: application + "ignoreDifferences: [{group: apps, kind: Deployment, jsonPointers: [/spec]}, {group: apiextensions.k8s.io, kind: CustomResourceDefinition, jsonPointers: [/metadata/labels]}]", want: []string{"DifferencesIgnored error Application spec.ignoreDifferences.1"}, why: "/metadata/labels"},
		"of all kinds":                     {metadata: labelled, delivery: application + "ignoreDifferences: [{group: '*', kind: '*', jsonPointers: [/metadata/labels]}]", want: []string{"DifferencesIgnored error Application spec.ignoreDifferences.0"}},
		"of another CRD":                   {metadata: labelled, delivery: application + "ignoreDifferences: [{group: apiextensions.k8s.io, kind: CustomResourceDefinition, name: gadgets.example.com, jsonPointers: [/metadata/labels]}]"},
		"what a manager wrote":             {metadata: labelled, delivery: application + "ignoreDifferences: [{group: apiextensions.k8s.io, kind: CustomResourceDefinition, managedFieldsManagers: [helm]}]", want: []string{"DifferencesIgnored warning Application spec.ignoreDifferences.0"}},
		"Argo CD ignores them everywhere":  {metadata: labelled, config: "resource.customizations.ignoreDifferences.all: 'jsonPointers: [/metadata/labels]'", want: []string{"DifferencesIgnored error ConfigMap data.resource.customizations.ignoreDifferences.all"}},
		"of CRDs":                          {metadata: labelled, config: "resource.customizations.ignoreDifferences.apiextensions.k8s.io_CustomResourceDefinition: 'jqPathExpressions: [.spec.versions]'", want: []string{"DifferencesIgnored error ConfigMap data.resource.customizations.ignoreDifferences.apiextensions.k8s.io_CustomResourceDefinition"}},
		"Flux does not read argocd-cm":     {metadata: labelled, delivery: kustomization, config: "resource.customizations.ignoreDifferences.all: 'jsonPointers: [/metadata/labels]'"},
		"Flux ignores labels":              {metadata: labelled, delivery: kustomization + "ignore: [{paths: [/metadata/labels/moult.dev~1migrate]}]", want: []string{"DifferencesIgnored error Kustomization spec.ignore.0"}},
		"Flux ignores those of Deployment": {metadata: labelled, delivery: kustomization + "ignore: [{paths: [/metadata/labels], target: {kind: Deployment}}]"},
		"Flux ignores them by name":        {metadata: labelled, delivery: kustomization + "ignore: [{paths: [/spec/versions], target: {kind: Custom.*, name: '.*\\.example\\.com'}}]", want: []string{"DifferencesIgnored error Kustomization spec.ignore.0"}},

		"Flux has no variables":         {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {a: '${x}'}", delivery: kustomization + "postBuild: {}"},
		"Flux has a variable":           {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {a: 'see ${x.y}'}", delivery: kustomization + "postBuild: {substitute: {region: eu}}", want: []string{"Substituted error CustomResourceDefinition metadata.annotations.a"}, why: "Flux takes ${x.y} for a variable"},
		"from a ConfigMap":              {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {a: '${x}'}", delivery: kustomization + "postBuild: {substituteFrom: [{kind: ConfigMap, name: x}]}", want: []string{"Substituted error CustomResourceDefinition metadata.annotations.a"}},
		"always":                        {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {a: '${x}'}", delivery: kustomization + "postBuild: {substituteStrategy: Always}", want: []string{"Substituted error CustomResourceDefinition metadata.annotations.a"}},
		"the variable is meant":         {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {a: '${region} and ${region:=us}'}", delivery: kustomization + "postBuild: {substitute: {region: eu}}"},
		"a second one is not":           {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {a: '${region} $5 ${x}'}", delivery: kustomization + "postBuild: {substitute: {region: eu}}", want: []string{"Substituted error CustomResourceDefinition metadata.annotations.a"}, why: "${x}"},
		"it is written with two":        {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {a: '$${x} costs 5$'}", delivery: kustomization + "postBuild: {substitute: {region: eu}}"},
		"with three":                    {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {a: '$$${x}'}", delivery: kustomization + "postBuild: {substitute: {region: eu}}", want: []string{"Substituted error CustomResourceDefinition metadata.annotations.a"}},
		"the CRD is left out of it":     {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {a: '${x}', kustomize.toolkit.fluxcd.io/substitute: disabled}", delivery: kustomization + "postBuild: {substitute: {region: eu}}"},
		"Argo CD replaces no variables": {metadata: "labels: {moult.dev/migrate: \"true\"}\n  annotations: {a: '${x}'}", delivery: application + "postBuild: {substitute: {region: eu}}"},
		"several things at once": {delivery: kustomization + "force: true", metadata: "annotations: {kustomize.toolkit.fluxcd.io/ssa: Ignore}",
			want: []string{"NotLabelled error CustomResourceDefinition metadata.labels.moult.dev/migrate", "Recreated error Kustomization spec.force", "NotApplied error CustomResourceDefinition metadata.annotations.kustomize.toolkit.fluxcd.io/ssa"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			u, q := delivery.Unit{}, Question{LabelKey: key, Unseen: c.unseen}
			if c.versions == nil {
				c.versions = []string{"v1alpha1", "v1"}
			}
			if c.unseen {
				u.Unseen = "it is a chart"
			} else {
				u.Objects = []*delivery.Object{crd(t, c.metadata, c.versions...)}
			}
			if c.delivery != "" {
				u.By = object(t, c.delivery)
				u.Tool = delivery.ToolOf(u.By)
			}
			if c.config != "" {
				q.ArgoCDConfig = append(q.ArgoCDConfig, object(t, "kind: ConfigMap\ndata:\n  "+c.config))
			}
			var got, whys []string
			for _, f := range Check(&u, q) {
				got = append(got, fmt.Sprintf("%s %s %s %s", f.Rule, f.Severity, strings.Fields(f.Resource)[0], f.Place.File))
				whys = append(whys, f.Why)
				g.Expect(f.Remediation).NotTo(BeEmpty())
			}
			g.Expect(got).To(Equal(c.want))
			g.Expect(strings.Join(whys, "\n")).To(ContainSubstring(c.why))
		})
	}
}

func TestAnotherMigratorBesideTheLabelIsFound(t *testing.T) {
	const migration = "kind: StorageVersionMigration\nmetadata: {name: widgets}\nspec: {resource: {group: example.com, resource: %s}}\napiVersion: %s"
	for name, c := range map[string]struct {
		metadata, resource, api string
		found                   bool
	}{
		"Kubernetes' own":                  {labelled, "widgets", "storagemigration.k8s.io/v1", true},
		"kube-storage-version-migrator":    {labelled, "widgets", "migration.k8s.io/v1alpha1", true},
		"of another resource":              {labelled, "gadgets", "storagemigration.k8s.io/v1", false},
		"of another group":                 {labelled, "widgets", "example.com/v1", false},
		"of a CRD that is not opted in":    {`labels: {moult.dev/migrate: "false"}`, "widgets", "storagemigration.k8s.io/v1", false},
		"of one that says nothing of that": {"labels: {}", "widgets", "storagemigration.k8s.io/v1", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			unit := &delivery.Unit{Objects: []*delivery.Object{crd(t, c.metadata, "v1alpha1", "v1"), object(t, fmt.Sprintf(migration, c.resource, c.api))}}
			found := slices.DeleteFunc(Check(unit, Question{LabelKey: key}), func(f Found) bool { return f.Rule == NotLabelled })
			if !c.found {
				g.Expect(found).To(BeEmpty())
				return
			}
			g.Expect(found).To(ConsistOf(And(HaveField("Rule", OtherMigrator), HaveField("Severity", finding.Warning), HaveField("CRD", "widgets.example.com"),
				HaveField("Resource", "StorageVersionMigration widgets"), HaveField("Place.File", "spec.resource"))))
		})
	}
}

// Files of one folder are units of their own, and so are Kustomizations of one cluster.
func TestAnotherMigratorInAUnitBesideIsFound(t *testing.T) {
	g := NewWithT(t)
	of := &delivery.Unit{Objects: []*delivery.Object{object(t, "kind: StorageVersionMigration\nmetadata: {name: w}\nspec: {resource: {group: example.com, resource: widgets}}\napiVersion: storagemigration.k8s.io/v1")}}
	for metadata, count := range map[string]int{labelled: 1, "labels: {}": 0} {
		beside := &delivery.Unit{Objects: []*delivery.Object{crd(t, metadata, "v1alpha1", "v1")}}
		g.Expect(Check(of, Question{LabelKey: key, SameClusters: []*delivery.Unit{of, beside}})).To(HaveLen(count), metadata)
		nothing := func(string) bool { return false }
		g.Expect(Check(of, Question{LabelKey: key, SameClusters: []*delivery.Unit{beside}, About: nothing})).To(BeEmpty())
	}
}

func TestAPatchThatReachesNothingIsFound(t *testing.T) {
	g := NewWithT(t)
	findings := Check(&delivery.Unit{Patches: []delivery.Patch{{File: "a.yaml", Line: 7}, {File: "b.yaml", Reached: 1}}}, Question{LabelKey: key})
	g.Expect(findings).To(ConsistOf(And(HaveField("Rule", ReachesNothing), HaveField("Place.File", "a.yaml"), HaveField("Place.Line", 7), HaveField("Severity", finding.Error))))
}

func TestAPatchThatTakesTheLabelOffIsReported(t *testing.T) {
	g := NewWithT(t)
	off, missed := delivery.Patch{File: "a.yaml", TakesOff: true, Reached: 1}, delivery.Patch{File: "b.yaml", TakesOff: true}
	g.Expect(Check(&delivery.Unit{Patches: []delivery.Patch{off, missed}}, Question{LabelKey: key})).To(ConsistOf(
		And(HaveField("Rule", ReachesNothing), HaveField("Place.File", "a.yaml"), HaveField("Why", ContainSubstring("it takes the label off and opts no CRD in")), HaveField("Remediation", ContainSubstring(`write moult.dev/migrate: "true" in it`))),
		And(HaveField("Rule", ReachesNothing), HaveField("Place.File", "b.yaml"), HaveField("Why", ContainSubstring("matches no CRD"))),
	))
}

func TestTheOrderIsThatFromGitToTheCluster(t *testing.T) {
	g := NewWithT(t)
	var order []string
	for _, r := range rules {
		order = append(order, r.name)
	}
	g.Expect(slices.Compact(order)).To(Equal([]string{NotLabelled, ReachesNothing, Recreated, Replaced, NotApplied, DifferencesIgnored, Substituted, OtherMigrator}))
}

func TestWhatMayBeIgnored(t *testing.T) {
	for path, hidden := range map[string]bool{
		"":                                      true,
		"/":                                     true,
		"/metadata":                             true,
		"/metadata/labels":                      true,
		"/metadata/labels/moult.dev~1migrate":   true,
		"/metadata/labels/team":                 false,
		"/metadata/annotations":                 false,
		"/spec":                                 true,
		"/spec/versions":                        true,
		"/spec/versions/0":                      true,
		"/spec/versions/0/storage":              true,
		"/spec/versions/0/schema":               false,
		"/spec/conversion/webhook/clientConfig": false,
		"/spec/preserveUnknownFields":           false,
		"/status":                               false,
	} {
		NewWithT(t).Expect(hides(segments(path), key)).To(Equal(hidden), path)
	}
	for expression, hidden := range map[string]bool{
		".":                                     true,
		"..":                                    true,
		".metadata.labels":                      true,
		`.metadata.labels["moult.dev/migrate"]`: true,
		`.metadata.labels."moult.dev/migrate"`:  true,
		`.metadata["labels"]["team"]`:           false,
		".spec.versions[]":                      true,
		".spec.versions[] | select(.name == \"v1\")":     true,
		".spec.versions[0].served":                       true,
		".spec.versions[]?.additionalPrinterColumns":     false,
		".spec.versions[].schema.openAPIV3Schema":        false,
		".spec.conversion.webhook.clientConfig.caBundle": false,
		".status": false,
	} {
		NewWithT(t).Expect(hides(jqPath(expression), key)).To(Equal(hidden), expression)
	}
}

// No manifest, however odd, makes a rule panic.
func TestOddManifestsAreJudgedToo(t *testing.T) {
	g := NewWithT(t)
	for _, odd := range []string{"null", "3", "[1]", "text", "{a: [b]}"} {
		manifest := strings.NewReplacer("ODD", odd).Replace
		objects := []*delivery.Object{
			object(t, manifest("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: ODD\nspec: ODD")),
			object(t, manifest("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x, labels: ODD, annotations: ODD}\nspec: {versions: [ODD, ODD]}")),
		}
		for _, text := range []string{
			"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec: ODD",
			"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec: {path: ODD, force: ODD, ignore: [ODD], postBuild: ODD, patches: [ODD], components: [ODD], commonMetadata: ODD}",
			"apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: {source: ODD, sources: [ODD], syncPolicy: {syncOptions: [ODD]}, ignoreDifferences: [ODD]}\noperation: ODD",
			"apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nspec: ODD",
		} {
			by := object(t, manifest(text))
			u := delivery.Unit{Objects: objects, By: by, Tool: delivery.ToolOf(by)}
			g.Expect(func() { delivery.SourcesOf(by) }).NotTo(Panic(), manifest(text))
			g.Expect(func() { Check(&u, Question{LabelKey: key}) }).NotTo(Panic(), manifest(text))
		}
	}
}
