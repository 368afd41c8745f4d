package preview

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

const (
	// anOperator is a program with an account, and mayMakeCRDs lets that make CRDs.
	anOperator  = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: o, namespace: o}\nspec: {template: {spec: {serviceAccountName: o, containers: [{name: o, image: 'example.com/o:1.0.0'}]}}}\n"
	aRole       = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: o}\nrules: [{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [get, create]}]\n"
	aBinding    = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: o}\nroleRef: {kind: ClusterRole, name: o}\nsubjects: [{kind: ServiceAccount, name: o, namespace: o}]\n"
	mayMakeCRDs = aRole + aBinding
	// aComposition makes a release of a chart of whatever names it.
	aComposition = "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec:\n  compositeTypeRef: {apiVersion: example.com/v1, kind: XMonitoring}\n  resources:\n" +
		"  - name: r\n    base: {apiVersion: helm.crossplane.io/v1beta1, kind: Release, spec: {forProvider: {chart: {name: c}}}}\n    patches: [{fromFieldPath: spec.version, toFieldPath: spec.forProvider.chart.version}]\n"
)

// misleadingPrograms make CRDs by themselves, as their rights show, or by what another object makes of one.
var misleadingPrograms = map[string]overlooked{
	"an operator that may make CRDs": inHub(anOperator + mayMakeCRDs),
	"a variable of an operator":      inHub(strings.NewReplacer(":1.0.0", "", "image:", "env: [{name: V, value: 1.0.0}], image:").Replace(anOperator) + mayMakeCRDs),
	"what an operator reads": inHub(strings.NewReplacer(":1.0.0", "", "containers:", "volumes: [{name: v, configMap: {name: c}}], containers:").Replace(anOperator) + mayMakeCRDs +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: o}\ndata: {v: 1.0.0}\n"),
	"a ConfigMap whose name an operator is given": inHub(strings.NewReplacer(":1.0.0", "", "image:", "args: ['--settings=o/settings'], image:").Replace(anOperator) + mayMakeCRDs +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: o}\ndata: {v: 1.0.0}\n"),
	"a volume that is an image": inHub(strings.NewReplacer(":1.0.0", "", "containers:", "volumes: [{name: v, image: {reference: 'm:1.0.0'}}], containers:").Replace(anOperator) + mayMakeCRDs),
	"a role that others are put together to": inHub(anOperator + strings.Replace(aRole, "{name: o}", "{name: p, labels: {in: o}}", 1) + aBinding +
		"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: o}\naggregationRule: {clusterRoleSelectors: [{matchExpressions: [{key: in, operator: Exists}]}]}\n"),
	"an operator that may do all with their group": inHub(anOperator + strings.NewReplacer("[customresourcedefinitions]", "['*']", "[get, create]", "['*']").Replace(mayMakeCRDs)),
	"an operator that may delete CRDs":             inHub(anOperator + strings.Replace(mayMakeCRDs, "create", "delete", 1)),
	"all accounts of a namespace":                  inHub(anOperator + strings.Replace(mayMakeCRDs, "{kind: ServiceAccount, name: o, namespace: o}", "{kind: Group, name: 'system:serviceaccounts:o'}", 1)),
	"a Job that may do all": inHub(strings.NewReplacer("apps/v1", "batch/v1", "Deployment", "Job", "{serviceAccountName", "{restartPolicy: Never, serviceAccountName").Replace(anOperator) +
		strings.Replace(aBinding, "{kind: ClusterRole, name: o}", "{kind: ClusterRole, name: cluster-admin}", 1)),
	"an operator that gets the right":       {common: files{"hub/o.yaml": anOperator}, base: files{"hub/r.yaml": aConfigMap}, head: files{"hub/r.yaml": mayMakeCRDs}, entry: "hub"},
	"an operator that may change CRDs, too": {common: files{"hub/o.yaml": anOperator}, base: files{"hub/r.yaml": mayMakeCRDs}, head: files{"hub/r.yaml": strings.Replace(mayMakeCRDs, "create]", "create, update]", 1)}, entry: "hub"},
	"the same by a second role":             {common: files{"hub/o.yaml": anOperator + mayMakeCRDs}, base: files{"hub/r.yaml": aConfigMap}, head: files{"hub/r.yaml": strings.NewReplacer("{name: o}", "{name: p}", "ClusterRole, name: o", "ClusterRole, name: p", "create]", "delete]").Replace(mayMakeCRDs)}, entry: "hub"},
	"the same in a folder that fails": {
		common: files{"clusters/a/k.yaml": fluxTo("./hub", ""), "hub/o.yaml": anOperator, "hub/kustomization.yaml": "resources: [o.yaml, r.yaml, none.yaml]\n"},
		base:   files{"hub/r.yaml": mayMakeCRDs}, head: files{"hub/r.yaml": strings.Replace(mayMakeCRDs, "create]", "create, update]", 1)},
	},
	"an operator beside what is encrypted": bump("hub/o.yaml", anOperator, files{
		"clusters/a/k.yaml": fluxTo("./hub", ""), "hub/kustomization.yaml": "resources: [o.yaml, r.yaml, s.yaml]\n", "hub/r.yaml": mayMakeCRDs, "hub/s.yaml": "\x00GITCRYPT\x00",
	}),
	"an operator in a folder that fails, with rights of another": bump("hub/o.yaml", anOperator, files{
		"clusters/a/k.yaml": fluxTo("./hub", ""), "clusters/a/r.yaml": strings.Replace(fluxTo("./rights", ""), "name: crds", "name: rights", 1), "rights/r.yaml": mayMakeCRDs, "hub/kustomization.yaml": "resources: [o.yaml, none.yaml]\n",
	}),
	"an operator of a folder that another takes": bump("hub/o.yaml", anOperator+mayMakeCRDs, files{"hub/kustomization.yaml": "resources: [o.yaml]\n", "over/kustomization.yaml": "resources: [../hub]\n"}),
	"an operator of a chart": {
		common: files{"c/Chart.yaml": chartC, "c/templates/o.yaml": strings.Replace(anOperator, "1.0.0", "{{ .Values.v }}", 1) + mayMakeCRDs, "apps/a.yaml": ofArgoCD("")["apps/a.yaml"]},
		base:   files{"c/values.yaml": "v: 1.0.0\n"}, head: files{"c/values.yaml": "v: 2.0.0\n"},
	},
	"an instance of a Composition":     bump("hub/x.yaml", "apiVersion: example.com/v1\nkind: XMonitoring\nmetadata: {name: x}\nspec: {version: 1.0.0}\n", files{"hub/c.yaml": aComposition, "clusters/a/k.yaml": fluxTo("./hub", "")}),
	"a claim of a Composition":         bump("hub/x.yaml", "apiVersion: example.com/v1\nkind: Monitoring\nmetadata: {name: x, namespace: a}\nspec: {version: 1.0.0}\n", files{"hub/c.yaml": aComposition, "clusters/a/k.yaml": fluxTo("./hub", "")}),
	"what a Composition takes besides": bump("hub/x.yaml", "apiVersion: apiextensions.crossplane.io/v1beta1\nkind: EnvironmentConfig\nmetadata: {name: x}\ndata: {version: 1.0.0}\n", files{"hub/c.yaml": aComposition, "clusters/a/k.yaml": fluxTo("./hub", "")}),
	"an instance of kro's": bump("hub/x.yaml", "apiVersion: kro.run/v1alpha1\nkind: A\nmetadata: {name: x}\nspec: {v: 1.0.0}\n", files{
		"hub/r.yaml":        "apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: r}\nspec:\n  schema: {kind: A}\n  resources:\n  - id: s\n    template:\n      " + nested(subscription),
		"clusters/a/k.yaml": fluxTo("./hub", ""),
	}),
	"a promise of Kratix's": inHub("apiVersion: platform.kratix.io/v1alpha1\nkind: PromiseRelease\nmetadata: {name: p}\nspec: {version: 1.0.0}\n"),
	"the Job of a chart that is not seen": bump("rel/r.yaml", "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: c, namespace: it}\n"+
		"spec: {interval: 1h, chart: {spec: {chart: c, version: 3.0.0, sourceRef: {kind: HelmRepository, name: r}}}, values: {crds: {job: {image: {tag: 1.0.0}}}}}\n", files{"clusters/a/k.yaml": fluxTo("./rel", "")}),
}

func TestWhatAProgramMakesIsSeen(t *testing.T) {
	for name, c := range misleadingPrograms {
		t.Run(name, c.isSeen)
	}
}

// The right to do all is no sign: Argo CD has it, and dashboards. Nor is the right to change CRDs, for certificates.
func TestMostProgramsMakeNoCRDs(t *testing.T) {
	for name, c := range map[string]overlooked{
		"no right at all":          inHub(anOperator),
		"the right of another":     inHub(anOperator + strings.Replace(mayMakeCRDs, "name: o, namespace: o", "name: p, namespace: o", 1)),
		"in another namespace":     inHub(anOperator + strings.Replace(mayMakeCRDs, "name: o, namespace: o", "name: o, namespace: p", 1)),
		"to read more":             {common: files{"hub/o.yaml": anOperator}, base: files{"hub/r.yaml": mayMakeCRDs}, head: files{"hub/r.yaml": strings.Replace(mayMakeCRDs, "create]", "create, list]", 1)}, entry: "hub"},
		"the right to change some": inHub(anOperator + strings.Replace(mayMakeCRDs, "create", "update", 1)),
		"the right to do all":      inHub(anOperator + strings.Replace(aBinding, "{kind: ClusterRole, name: o}", "{kind: ClusterRole, name: cluster-admin}", 1)),
		"a chart of one that looks at CRDs": bump("c/values.yaml", "v: 1.0.0\n", files{
			"c/Chart.yaml":        chartC + "dependencies: [{name: d, version: 1.2.3, repository: 'https://charts.invalid'}]\n",
			"c/templates/r.yaml":  "{{ if .Values.v }}\n" + strings.Replace(aRole, "[get, create]", "[get, list]", 1) + "{{ end }}\n",
			"c/templates/r2.yaml": "{{ if .Values.v }}\n" + strings.NewReplacer("[{apiG", "\n- {apiG", "[get, create]}]", "[get]}\n- apiGroups: [apiextensions.k8s.io]\n  resources:\n  - customresourcedefinitions\n  verbs:\n  - watch\n  - \"patch\"").Replace(aRole) + "{{ end }}\n",
		}),
		"a label beside a Secret of the program's own name": inHub(strings.NewReplacer("apps/v1", "example.com/v1", "Deployment", "Set", "namespace: o}", "namespace: o, labels: {v: 1.0.0}}", "o:1.0.0", "o", "containers:", "volumes: [{secret: {secretName: o}}], containers:").
			Replace(anOperator) + mayMakeCRDs),
		"a Composition of buckets": bump("hub/x.yaml", "apiVersion: example.com/v1\nkind: XMonitoring\nmetadata: {name: x}\nspec: {version: 1.0.0}\n", files{
			"hub/c.yaml": strings.NewReplacer("helm.crossplane.io", "s3.aws.upbound.io", "Release", "Bucket").Replace(aComposition), "clusters/a/k.yaml": fluxTo("./hub", ""),
		}),
	} {
		t.Run(name, func(t *testing.T) {
			g := c.write(t)
			args := []string{"--base", "base", "--head", "head", "--offline"}
			if c.entry != "" {
				args = append(args, "--entry", c.entry)
			}
			code, out, errOut := previewed(t, args...)
			g.Expect(code).To(Equal(cli.ExitDone), out+errOut)
		})
	}
}
