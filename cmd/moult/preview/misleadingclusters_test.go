package preview

import (
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// ofFlux is a HelmRelease of the chart c in the repository; more is of its spec.
func ofFlux(more string) files {
	return files{
		"clusters/a/k.yaml": fluxTo("./rel", ""),
		"clusters/a/s.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\nspec: {url: 'https://git.example.com/it', interval: 1h, ref: {branch: main}}\n",
		"rel/r.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: c, namespace: it}\n" +
			"spec: {interval: 1h, chart: {spec: {chart: ./c, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}" + more + "}\n",
		"c/Chart.yaml": chartC,
	}
}

func ofArgoCD(more string) files {
	return files{"apps/a.yaml": appTo("a", "c", own, more), "c/Chart.yaml": chartC}
}

// when is a chart that makes the CRD on a condition.
func when(condition string, common files) overlooked {
	return swapped("c/templates/w.yaml", func(crd string) string { return "{{ if " + condition + " }}\n" + crd + "{{ end }}\n" }, common, "")
}

// hooked is the CRD in the chart as a hook, before and after.
func hooked(was, now string, common files) overlooked {
	of := func(hook string) files {
		return files{"c/templates/w.yaml": strings.Replace(without, "metadata: {", "metadata: {annotations: {"+hook+"}, ", 1)}
	}
	return overlooked{common: common, base: of(was), head: of(now)}
}

func also(more files, to files) files {
	both := maps.Clone(to)
	maps.Copy(both, more)
	return both
}

// onlyInClusters are conditions that only a cluster decides, with both tools.
var onlyInClusters = map[string]string{
	"an API":                        `.Capabilities.APIVersions.Has "example.com/v9"`,
	"an API in a variable":          `$a := "example.com/v9" }}{{ if .Capabilities.APIVersions.Has $a }}{{ end }}{{ if .Capabilities.APIVersions.Has (printf "%s/v9" "example.com")`,
	"an API, piped":                 `"example.com/v9" | .Capabilities.APIVersions.Has`,
	"an API in a list":              `has "example.com/v9" .Capabilities.APIVersions`,
	"an API in a text":              `contains "example.com/v9" (toString .Capabilities.APIVersions)`,
	"an API that a value names":     `.Capabilities.APIVersions.Has .Values.api`,
	"one API and not another":       `and (.Capabilities.APIVersions.Has "example.com/v9") (not (.Capabilities.APIVersions.Has "other.example.com/v9"))`,
	"an API of an older Kubernetes": `not (.Capabilities.APIVersions.Has "apiextensions.k8s.io/v1beta1")`,
	"an older Kubernetes":           `semverCompare "<1.31-0" .Capabilities.KubeVersion.Version`,
	"a newer Kubernetes":            `gt (int .Capabilities.KubeVersion.Minor) 38`,
	"another Helm":                  `semverCompare "<4.0.0-0" .Capabilities.HelmVersion.Version`,
}

var misleadingClusters = map[string]overlooked{
	"one API in the place of another": {
		common: ofFlux(""), base: files{"c/templates/w.yaml": "{{ if .Capabilities.APIVersions.Has \"example.com/v8\" }}\n" + widgetsCRD + "{{ end }}\n"},
		head: files{"c/templates/w.yaml": "{{ if .Capabilities.APIVersions.Has \"example.com/v9\" }}\n" + widgetsCRD + "{{ end }}\n"},
	},
	"what is looked up":               when(`lookup "v1" "ConfigMap" "it" "x"`, ofFlux("")),
	"a later revision":                when(`gt .Release.Revision 1`, ofFlux("")),
	"a first installation":            when(`.Release.IsInstall`, ofFlux("")),
	"a test of Helm's that Flux runs": hookSwapped("test", ofFlux(", test: {enable: true}")),
	"a hook after what has failed":    hookSwapped("post-rollback", ofFlux(", upgrade: {remediation: {retries: 3}}")),
	"a CRD becomes a hook of Helm's":  hooked("a: b", "helm.sh/hook: pre-install", ofFlux("")),
	"a hook becomes one of upgrades":  hooked("helm.sh/hook: post-install", "helm.sh/hook: 'post-install,post-upgrade'", ofFlux("")),
	"a CRD becomes a hook":            hooked("a: b", "argocd.argoproj.io/hook: PreSync", ofArgoCD("")),
	"a hook becomes a CRD":            hooked("argocd.argoproj.io/hook: PostDelete", "a: b", ofArgoCD("")),
	"another hook beside Helm's":      hookSwapped("test, argocd.argoproj.io/hook: PreSync", ofArgoCD("")),

	"the tag of the repository of a chart": {
		common: also(files{"c/templates/w.yaml": widgetsCRD}, ofFlux("")), base: files{},
		head: files{"clusters/a/s.yaml": strings.Replace(ofFlux("")["clusters/a/s.yaml"], "branch: main", "tag: v2.0.0", 1)},
	},
	"what the repository of a chart leaves out": {
		common: also(files{"c/templates/w.yaml": widgetsCRD}, ofFlux("")), base: files{},
		head: files{"clusters/a/s.yaml": strings.Replace(ofFlux("")["clusters/a/s.yaml"], "interval: 1h", "interval: 1h, sparseCheckout: [d]", 1)},
	},
	"another repository of a chart": {
		common: also(files{"c/templates/w.yaml": widgetsCRD}, ofFlux("")), base: files{},
		head: files{"rel/r.yaml": strings.Replace(ofFlux("")["rel/r.yaml"], "name: flux-system,", "name: another,", 1)},
	},
	"what makes a Secret of values": bump("rel/s.yaml", "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: e, namespace: it}\nspec: {target: {name: v, template: {data: {values.yaml: 'old: 1.0.0'}}}}\n",
		also(files{"c/templates/w.yaml": ifOld}, ofFlux(", valuesFrom: [{kind: Secret, name: v}]"))),
	"what makes the Secret of a cluster": bump("apps/e.yaml", "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: e, namespace: argocd}\nspec: {target: {template: {metadata: {labels: {argocd.argoproj.io/secret-type: cluster, v: 1.0.0}}}}}\n",
		files{"apps/s.yaml": strings.Replace(set, "list: {elements: [{c: a}, {c: b}]}", "clusters: {selector: {matchLabels: {v: 1.0.0}}}", 1), "o/x/w.yaml": widgetsCRD}),
	"the ConfigMap of a plug-in generator": bump("apps/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p, namespace: argocd}\ndata: {baseUrl: 'https://1.0.0'}\n",
		files{"apps/s.yaml": strings.Replace(set, "list: {elements: [{c: a}, {c: b}]}", "plugin: {configMapRef: {name: p}}", 1), "o/x/w.yaml": widgetsCRD}),
	"an object that was left alone": {
		common: ofFlux(""), base: files{"rel/r.yaml": strings.Replace(ofFlux("")["rel/r.yaml"], "metadata: {", "metadata: {annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}, ", 1)}, head: files{"rel/r.yaml": ofFlux("")["rel/r.yaml"]},
	},
}

// hookSwapped is the CRD in the chart as a hook that changes.
func hookSwapped(hook string, common files) overlooked {
	return swapped("c/templates/w.yaml", func(crd string) string {
		return strings.Replace(crd, "metadata: {", "metadata: {annotations: {helm.sh/hook: "+hook+"}, ", 1)
	}, common, "")
}

func TestNoClusterMisleads(t *testing.T) {
	for name, c := range misleadingClusters {
		t.Run(name, c.isSeen)
	}
	for name, c := range misleadingSettings {
		t.Run(name, c.isSeen)
	}
	inArchive := func(crd string) files {
		return files{"p/c.tgz": packed(t, files{"c/Chart.yaml": chartC, "c/templates/w.yaml": crd})}
	}
	t.Run("a packed chart", overlooked{
		common: also(files{"rel/r.yaml": strings.Replace(ofFlux("")["rel/r.yaml"], "chart: ./c,", "chart: ./p/c.tgz,", 1)}, ofFlux("")), base: inArchive(widgetsCRD), head: inArchive(without),
	}.isSeen)
	for name, condition := range onlyInClusters {
		values := files{"c/values.yaml": "api: example.com/v9\n"}
		t.Run(name+", by Flux", when(condition, also(values, ofFlux(""))).isSeen)
		t.Run(name+", by Argo CD", when(condition, also(values, ofArgoCD(""))).isSeen)
	}
}

// What clusters decide about all else is no reason to ask.
func TestWhatOnlyAClusterDecidesNeedNotMatter(t *testing.T) {
	const monitor = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m, labels: {v: '1.0.0'}}\n"
	for name, c := range map[string]overlooked{
		"another object by an API":    bump("c/templates/m.yaml", "{{ if .Capabilities.APIVersions.Has \"monitoring.coreos.com/v1\" }}\n"+monitor+"{{ end }}\n", ofFlux("")),
		"a Secret that is looked up":  bump("c/templates/s.yaml", "{{ $s := lookup \"v1\" \"Secret\" \"it\" \"s\" }}\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: {{ $s | toJson | b64enc }}, v: '1.0.0'}\n", ofFlux("")),
		"a CRD that stays, by an API": bump("c/templates/m.yaml", monitor, also(files{"c/templates/w.yaml": "{{ if .Capabilities.APIVersions.Has \"example.com/v9\" }}\n" + widgetsCRD + "{{ end }}\n"}, ofFlux(""))),
		"a file of which another one has a checksum": bump("c/templates/m.yaml", aConfigMap+"data: {v: '1.0.0'}\n", also(files{
			"c/templates/w.yaml": "{{ if .Capabilities.APIVersions.Has \"example.com/v9\" }}\n" + widgetsCRD + "{{ end }}\n",
			"c/templates/d.yaml": "{{ $_ := set .Values \"x\" 1 }}\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, annotations: {sum: {{ include (print $.Template.BasePath \"/m.yaml\") . | sha256sum }}}}\n",
		}, ofFlux(""))),
		"an API that the Application gives": {
			common: ofArgoCD(", helm: {apiVersions: [example.com/v8], kubeVersion: '1.34'}"), base: when(`.Capabilities.APIVersions.Has "example.com/v9"`, nil).base, head: when(`.Capabilities.APIVersions.Has "example.com/v9"`, nil).head,
		},
		"what Argo CD looks up":      when(`lookup "v1" "ConfigMap" "it" "x"`, ofArgoCD("")),
		"a test that is not run":     hookSwapped("test", ofFlux("")),
		"a hook that Helm knows not": hookSwapped("crd-install", ofArgoCD("")),
	} {
		t.Run(name, func(t *testing.T) {
			g := c.write(t)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline")
			g.Expect(code).To(Equal(cli.ExitDone), out+errOut)
		})
	}
}
