package preview

import (
	"maps"
	"path"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

const (
	ksops    = "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g, annotations: {config.kubernetes.io/function: 'exec: {path: ksops}'}}\nfiles: [./s.enc.yaml]\n"
	sealing  = "generators: [g.yaml]\n"
	withCRD  = sealing + "resources: [crd.yaml, it.yaml]\n"
	settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {b: x}\n"
)

// sealed is an object as SOPS encrypts it.
func sealed(kind, data string) string {
	return "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: s}\ndata: {x: 'ENC[AES256_GCM,data:" + data + "]'}\n" + sopsOf(data)
}

func sopsOf(data string) string { return "sops: {mac: 'ENC[AES256_GCM,data:m" + data + "]'}\n" }

// merged is one that Kustomize merges with the one that is there.
func merged(data string) string {
	return strings.Replace(sealed("ConfigMap", data), "{name: s}", "{name: s, annotations: {kustomize.config.k8s.io/behavior: merge}}", 1)
}

// sealedCase has the files of a folder before, those that are another one after, and what the preview answers.
type sealedCase struct {
	base, head files
	says       string
}

const sealedSame, sealedHides, sealedVersion, sealedMap = "no CRD changes", "it takes a plug-in to build it", "v1alpha1 of widgets.example.com", "it may hold CRDs in a text that cannot be read"

func (c sealedCase) check(t *testing.T) {
	t.Helper()
	repository := files{}
	for side, its := range map[string]files{"base": c.base, "head": c.head} {
		all := files{"kustomization.yaml": withCRD, "crd.yaml": widgetsCRD, "it.yaml": settings, "g.yaml": ksops, "s.enc.yaml": sealed("Secret", "a")}
		if strings.Contains(c.base["s.enc.yaml"], "kind: ConfigMap") && !strings.Contains(c.base["s.enc.yaml"], "merge") {
			all["it.yaml"] = strings.Replace(settings, "name: s", "name: it", 1)
		}
		maps.Copy(all, c.base)
		maps.Copy(all, its)
		for file, content := range all {
			repository[path.Join(side, "apps", file)] = content
		}
		repository[side+"/clusters/production/apps.yaml"] = strings.Replace(gitApplication, "path: deploy", "path: apps", 1)
	}
	g := clitest.InRepository(t, repository)
	code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production", "--offline")
	want := cli.ExitUnknown
	if c.says == sealedSame {
		want = cli.ExitDone
	}
	g.Expect(code).To(Equal(want), out+errOut)
	g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(c.says))
}

// What ksops decrypts hides nothing else.
func TestWhatKsopsDecryptsHidesNothingElse(t *testing.T) {
	edited := files{"it.yaml": strings.Replace(settings, "b: x", "b: y", 1)}
	less := files{"crd.yaml": without}
	list := func(data string) string {
		return "apiVersion: v1\nkind: List\nmetadata: {selfLink: ''}\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: s}\n  data: {x: 'ENC[" + data + "]'}\n" + sopsOf(data)
	}
	two := func(data string) string {
		return sealed("Secret", data) + "---\n" + strings.Replace(sealed("Secret", data), "name: s", "name: t", 1)
	}
	patched := withCRD + "namePrefix: a-\npatches: [{target: {kind: Secret, name: s}, patch: '[{\"op\": \"add\", \"path\": \"/data/y\", \"value\": \"\"}]'}]\n"
	becomes := func(version string) string {
		return withCRD + `patches: [{target: {kind: Secret}, options: {allowKindChange: true}, patch: '[{"op": "remove", "path": "/data"}, {"op": "replace", "path": "/apiVersion", "value": "apiextensions.k8s.io/v1"},
 {"op": "replace", "path": "/kind", "value": "CustomResourceDefinition"}, {"op": "replace", "path": "/metadata/name", "value": "gadgets.example.com"},
 {"op": "add", "path": "/spec", "value": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Gadget", "plural": "gadgets"}, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}` + version + `]}}]'}]` + "\n"
	}
	for name, c := range map[string]sealedCase{
		"beside it":                     {nil, edited, sealedSame},
		"a version beside it":           {nil, less, sealedVersion},
		"a Secret":                      {nil, files{"s.enc.yaml": sealed("Secret", "b")}, sealedSame},
		"a Secret that comes":           {files{"kustomization.yaml": "resources: [crd.yaml, it.yaml]\n"}, files{"kustomization.yaml": withCRD}, sealedSame},
		"a plug-in by its kind":         {files{"g.yaml": strings.Replace(ksops, ", annotations: {config.kubernetes.io/function: 'exec: {path: ksops}'}", "", 1)}, files{"s.enc.yaml": sealed("Secret", "b")}, sealedSame},
		"Secrets in a List":             {files{"s.enc.yaml": list("a")}, files{"s.enc.yaml": list("b")}, sealedSame},
		"several documents":             {files{"s.enc.yaml": two("a")}, files{"s.enc.yaml": two("b")}, sealedSame},
		"two generators":                {files{"kustomization.yaml": "generators: [g.yaml, h.yaml]\nresources: [crd.yaml]\n", "h.yaml": strings.Replace(ksops, "s.enc", "t.enc", 1), "t.enc.yaml": strings.Replace(sealed("Secret", "a"), "name: s", "name: t", 1)}, files{"s.enc.yaml": sealed("Secret", "b")}, sealedSame},
		"a Component":                   {files{"kustomization.yaml": "components: [more]\nresources: [crd.yaml]\n", "more/kustomization.yaml": "kind: Component\n" + sealing, "more/g.yaml": ksops, "more/s.enc.yaml": sealed("Secret", "a")}, files{"more/s.enc.yaml": sealed("Secret", "b")}, sealedSame},
		"a Secret that is patched":      {files{"kustomization.yaml": patched}, files{"s.enc.yaml": sealed("Secret", "b")}, sealedSame},
		"a Secret that becomes a CRD":   {files{"kustomization.yaml": becomes(`, {"name": "v1alpha1", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}}`)}, files{"kustomization.yaml": becomes("")}, "v1alpha1 of gadgets.example.com"},
		"beside a ConfigMap":            {files{"s.enc.yaml": sealed("ConfigMap", "a")}, files{"it.yaml": strings.Replace(edited["it.yaml"], "name: s", "name: it", 1)}, sealedSame},
		"a ConfigMap":                   {files{"s.enc.yaml": sealed("ConfigMap", "a")}, files{"s.enc.yaml": sealed("ConfigMap", "b")}, sealedMap},
		"beside what is merged":         {files{"s.enc.yaml": merged("a")}, files{"crd.yaml": widgetsCRD + "# more\n"}, sealedSame},
		"merged with what is edited":    {files{"s.enc.yaml": merged("a")}, edited, sealedSame},
		"merged with what is generated": {files{"s.enc.yaml": merged("a"), "kustomization.yaml": sealing + "resources: [crd.yaml]\ngeneratorOptions: {disableNameSuffixHash: true}\nconfigMapGenerator: [{name: s, literals: [b=x]}]\n"}, edited, sealedSame},
		"what is merged":                {files{"s.enc.yaml": merged("a")}, files{"s.enc.yaml": merged("b")}, sealedMap},
		"what merging hides":            {files{"s.enc.yaml": merged("a"), "it.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata:\n  x: |\n" + indented(widgetsCRD, "    "), "kustomization.yaml": "resources: [it.yaml]\n"}, files{"kustomization.yaml": sealing + "resources: [it.yaml]\n"}, "widgets.example.com"},
		"a Secret of a type of its own": {files{"s.enc.yaml": sealed("Secret", "a") + "type: addons.cluster.x-k8s.io/resource-set\n"}, files{"s.enc.yaml": sealed("Secret", "b") + "type: addons.cluster.x-k8s.io/resource-set\n"}, sealedMap},
	} {
		t.Run(name, c.check)
	}
}

// It stays unknown if something else may be decrypted, or if what is decrypted may be copied.
func TestWhatMayBeMoreThanSecretsIsNotDecrypted(t *testing.T) {
	now, edited := files{"s.enc.yaml": sealed("Secret", "b")}, files{"it.yaml": strings.Replace(settings, "b: x", "b: y", 1)}
	run := func(how string) files { return files{"g.yaml": strings.Replace(ksops, "exec: {path: ksops}", how, 1)} }
	seal := func(from, to string) sealedCase {
		return sealedCase{files{"s.enc.yaml": strings.Replace(sealed("Secret", "a"), from, to, 1)}, files{"s.enc.yaml": strings.Replace(sealed("Secret", "b"), from, to, 1)}, sealedHides}
	}
	asked := func(annotation string) sealedCase {
		return seal("{name: s}", "{name: s, annotations: {"+annotation+"}}")
	}
	of := func(kustomization string) sealedCase {
		return sealedCase{files{"kustomization.yaml": withCRD + kustomization}, now, sealedHides}
	}
	named := func(file string) sealedCase {
		return sealedCase{files{"g.yaml": strings.Replace(ksops, "./s.enc.yaml", file, 1), strings.Trim(file, "'"): sealed("Secret", "a")}, files{strings.Trim(file, "'"): sealed("Secret", "b")}, sealedHides}
	}
	const copied = "replacements: [{source: {kind: Secret, name: s, fieldPath: data.x}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.b]}]}]\n"
	operation := func(text string) sealedCase {
		return sealedCase{files{"kustomization.yaml": withCRD + "patches: [{target: {kind: Secret}, path: p.json}]\n", "p.json": text}, now, sealedHides}
	}
	for name, c := range map[string]sealedCase{
		"a program of the repository":    {run("exec: {path: ./ksops}"), now, sealedHides},
		"a program with arguments":       {run("exec: {path: ksops, args: [a]}"), now, sealedHides},
		"an image":                       {run("container: {image: a}"), now, sealedHides},
		"another annotation":             {files{"g.yaml": strings.Replace(ksops, "config.kubernetes.io/function: 'exec: {path: ksops}'", "config.kubernetes.io/container: a", 1)}, now, sealedHides},
		"another kind":                   {files{"g.yaml": strings.Replace(ksops, "kind: ksops", "kind: other", 1)}, now, sealedHides},
		"another group":                  {files{"g.yaml": strings.Replace(ksops, "viaduct.ai", "example.com", 1)}, now, sealedHides},
		"another field":                  {files{"g.yaml": ksops + "secretFrom: [{metadata: {name: t}, files: [x]}]\n", "x": "1"}, files{"x": "2"}, sealedHides},
		"a field in capitals":            {files{"g.yaml": ksops + "Files: [crd.yaml]\n"}, now, sealedHides},
		"two documents in the generator": {files{"g.yaml": ksops + "---\napiVersion: v1\nkind: Any\nmetadata: {name: any}\n"}, now, sealedHides},
		"another generator":              {files{"kustomization.yaml": "generators: [g.yaml, h.yaml]\n", "h.yaml": "apiVersion: example.com/v1\nkind: Any\nmetadata: {name: any}\n"}, now, sealedHides},
		"another kind that is encrypted": seal("kind: Secret", "kind: CustomResourceDefinition"),
		"another group of a Secret":      seal("apiVersion: v1", "apiVersion: example.com/v1"),
		"another document":               {files{"s.enc.yaml": sealed("Secret", "a") + "---\n" + widgetsCRD, "kustomization.yaml": sealing}, files{"s.enc.yaml": sealed("Secret", "a") + "---\n" + without}, sealedHides},
		"another kind in a List":         {files{"s.enc.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + strings.TrimSpace(indented(widgetsCRD, "  ")) + "\n" + sopsOf("a"), "kustomization.yaml": sealing}, files{"s.enc.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + strings.TrimSpace(indented(without, "  ")) + "\n" + sopsOf("b")}, sealedHides},
		"no name":                        seal("name: s", "namespace: s"),
		"an encrypted name":              seal("name: s", "name: 'ENC[x]'"),
		"an encrypted type":              seal("data:", "type: 'ENC[x]'\ndata:"),
		"an anchor":                      seal("kind: Secret", "kind: &kind Secret"),
		"a field twice":                  seal("kind: Secret", "kind: Secret\nkind: Widget"),
		"nothing that is encrypted":      {nil, files{"s.enc.yaml": strings.Replace(sealed("Secret", "a"), sopsOf("a"), "", 1)}, sealedHides},
		"no file":                        {nil, files{"g.yaml": strings.Replace(ksops, "s.enc", "t.enc", 1)}, sealedHides},
		"a file of another ending":       named("s.enc"),
		"a file of JSON":                 named("s.json"),
		"a file above":                   named("../s.yaml"),
		"an address":                     named("'https:/example.com/s.yaml'"),
		"a generator at an address":      {files{"kustomization.yaml": strings.Replace(withCRD, "g.yaml", "'https://example.com/g.yaml'", 1), "https:/example.com/g.yaml": ksops}, now, "nothing is fetched from"},
		"a hash":                         asked("kustomize.config.k8s.io/needs-hash: 'true'"),
		"a hash that is no text":         asked("kustomize.config.k8s.io/needs-hash: true"),
		"what is replaced":               asked("kustomize.config.k8s.io/behavior: replace"),
		"what replaces nothing":          {files{"s.enc.yaml": strings.Replace(merged("a"), "merge", "replace", 1), "it.yaml": strings.Replace(settings, "name: s", "name: it", 1)}, files{"it.yaml": strings.Replace(edited["it.yaml"], "name: s", "name: it", 1)}, sealedHides},
		"a Secret that is merged":        asked("kustomize.config.k8s.io/behavior: merge"),
		"what is left out":               asked("config.kubernetes.io/local-config: 'true'"),
		"what is merged with nothing":    {nil, files{"s.enc.yaml": strings.Replace(merged("a"), "name: s", "name: t", 1)}, sealedHides},
		"merged, and not encrypted":      {files{"s.enc.yaml": strings.Replace(merged("a"), "{x:", "{y: '\"\"', x:", 1)}, files{"s.enc.yaml": strings.Replace(merged("b"), "{x:", "{y: '\"\"', x:", 1)}, sealedHides},
		"merged, and more than data":     {files{"s.enc.yaml": merged("a") + "binaryData: {y: eA==}\n"}, files{"s.enc.yaml": merged("b") + "binaryData: {y: eA==}\n"}, sealedHides},
		"merged by a key with a sign":    {files{"s.enc.yaml": strings.Replace(merged("a"), "x:", "b=x:", 1)}, files{"s.enc.yaml": strings.Replace(merged("b"), "x:", "b=x:", 1)}, sealedHides},
		"a Secret that is there":         {nil, files{"kustomization.yaml": strings.Replace(withCRD, "it.yaml", "it.yaml, t.yaml", 1), "t.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"}, sealedHides},
		"what Kustomize merges":          {nil, files{"kustomization.yaml": withCRD + "secretGenerator: [{name: s, behavior: merge, literals: [y=x]}]\n"}, sealedHides},
		"a replacement":                  of(copied),
		"another configuration":          {files{"kustomization.yaml": withCRD + "configurations: [c.yaml]\n", "c.yaml": "namePrefix: []\n"}, now, sealedHides},
		"an encrypted name that changes": {files{"kustomization.yaml": withCRD + "patches: [{target: {kind: Secret}, patch: '[{\"op\": \"replace\", \"path\": \"/metadata/name\", \"value\": \"s\"}]'}]\n", "s.enc.yaml": strings.Replace(sealed("Secret", "a"), "name: s", "name: 'ENC[x]'", 1)}, files{"s.enc.yaml": strings.Replace(sealed("Secret", "a"), "name: s", "name: 'ENC[y]'", 1)}, sealedHides},
		"what is merged and left out":    {files{"s.enc.yaml": strings.Replace(merged("a"), "merge}", "merge, config.kubernetes.io/local-config: 'true'}", 1)}, edited, sealedHides},
		"a replacement above":            {files{"kustomization.yaml": "resources: [below, it.yaml]\n" + copied, "below/kustomization.yaml": sealing, "below/g.yaml": ksops, "below/s.enc.yaml": sealed("Secret", "a")}, files{"below/s.enc.yaml": sealed("Secret", "b")}, sealedHides},
		"a variable":                     of("vars: [{name: X, objref: {apiVersion: v1, kind: Secret, name: s}, fieldref: {fieldpath: data.x}}]\n"),
		"a transformer":                  {files{"kustomization.yaml": withCRD + "transformers: [t.yaml]\n", "t.yaml": "apiVersion: builtin\nkind: ReplacementTransformer\nmetadata: {name: t}\n" + copied}, now, sealedHides},
		"a copy into a label":            operation(`[{"op": "copy", "from": "/data/x", "path": "/metadata/labels"}]`),
		"a copy with two names":          operation(`[{"op": "copy", "from": "/data/x", "path": "/data/y", "From": ""}]`),
		"a copy in YAML":                 operation("- {op: move, from: /data/x, path: /data/y}\n"),
		"a patch at an address":          {files{"kustomization.yaml": withCRD + "patches: [{target: {kind: Secret}, path: 'https://example.com/p.json'}]\n", "https:/example.com/p.json": "[]"}, now, "nothing is fetched from"},
		"an older patch":                 {files{"kustomization.yaml": withCRD + "patchesJson6902: [{target: {version: v1, kind: Secret, name: s}, path: p.json}]\n", "p.json": `[{"op": "copy", "from": "/data/x", "path": "/data/y"}]`}, now, sealedHides},
		"a patch that tests":             operation(`[{"op": "test", "path": "/data/x", "value": "eA=="}]`),
		"a Secret of another kind":       of("patches: [{target: {kind: Secret}, options: {allowKindChange: true}, patch: '[{\"op\": \"replace\", \"path\": \"/kind\", \"value\": \"Widget\"}]'}]\n"),
	} {
		t.Run(name, c.check)
	}
}

// Flux runs no plug-ins, so a kustomization with one fails there.
func TestFluxDecryptsNothingWithKsops(t *testing.T) {
	repository := files{}
	for side, kustomization := range map[string]string{"base": "resources: [crd.yaml]\n", "head": sealing + "resources: [crd.yaml]\n"} {
		for file, content := range (files{"kustomization.yaml": kustomization, "crd.yaml": widgetsCRD, "g.yaml": ksops, "s.enc.yaml": sealed("Secret", "a")}) {
			repository[side+"/apps/"+file] = content
		}
		repository[side+"/clusters/production/apps.yaml"] = strings.Replace(fluxOf, "./crds", "./apps", 1)
	}
	g := clitest.InRepository(t, repository)
	code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production", "--offline")
	g.Expect(code).To(Equal(cli.ExitUnknown), out+errOut)
	g.Expect(out).To(ContainSubstring("it takes a plug-in to build it"))
}
