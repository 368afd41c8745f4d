// Command generate writes the templates of the chart from the kustomizations that install Moult without Helm. Kustomize
// itself puts a name prefix wherever a name is referred to, and what it has put there becomes a call of a helper. It also writes
// the table of the chart's README, from values.yaml.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/chart"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

const (
	base = "clusters/base"
	// The words that stand for values until the manifest is text.
	prefix      = "name-prefix-"
	namespace   = "namespace-of-the-controller"
	image       = "image-of-the-controller"
	moreArgs    = "more-args"
	pullSecrets = "pull-secrets"

	aggregateTo = "rbac.moult.dev/aggregate-to"
)

// template is one file of the chart.
type template struct {
	name, when string
	// folder is built as it is; without it, component is built with the base, and the objects of the base are left out.
	folder, component string
	// shared objects are those of the whole cluster, so their names get no prefix.
	shared bool
}

var templates = []template{
	{name: "crds", when: ".Values.crds.enabled", folder: "clusters/base/crds"},
	{name: "controller", folder: "clusters/base/controller"},
	{name: "all-custom-resources", when: ".Values.allCustomResources", component: "all-custom-resources"},
	{name: "dashboard", when: ".Values.dashboard", component: "dashboard"},
	{name: "in-tree-migrator", when: ".Values.inTreeMigrator", component: "in-tree-migrator"},
	{name: "migrate-stashes", when: ".Values.migrateStashes", component: "migrate-stashes"},
	{name: "monitoring", when: ".Values.monitoring", component: "monitoring"},
	{name: "nudge", when: ".Values.nudge", component: "nudge"},
	{name: "references", when: ".Values.references", component: "references"},
	{name: "repair-owners", when: ".Values.repairOwners", component: "repair-owners"},
	{name: "admission-deny", when: `eq .Values.admission.mode "deny"`, folder: "policies/admission/deny", shared: true},
	{name: "admission-warn", when: `eq .Values.admission.mode "warn"`, folder: "policies/admission/warn", shared: true},
	{name: "admission-keep-label", when: ".Values.admission.keepLabel", folder: "policies/admission/keep-label", shared: true},
}

func main() {
	log.SetFlags(0)
	if err := errors.Join(writeAll("../..", "templates/generated"), writeTable("values.yaml", "README.md")); err != nil {
		log.Fatal(err)
	}
}

// writeTable writes the values into the table at the end of the README.
func writeTable(values, readme string) error {
	content, err := os.ReadFile(values)
	if err != nil {
		return err
	}
	rows, err := chart.Rows(content)
	if err != nil {
		return fmt.Errorf("%s: %w", values, err)
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	const head = "| value | default | |\n|---|---|---|\n"
	before, _, found := strings.Cut(string(text), head)
	if !found {
		return fmt.Errorf("%s has no table of values", readme)
	}
	b := &strings.Builder{}
	b.WriteString(before + head)
	for _, row := range rows {
		fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", row.Name, row.Default, row.About)
	}
	return os.WriteFile(readme, []byte(b.String()), 0o644)
}

// writeAll writes the templates. The ways are those from the folder of the chart, where go generate runs this.
func writeAll(root, into string) error {
	for _, t := range templates {
		objects, err := t.objects(root)
		if err != nil {
			return err
		}
		text, err := t.text(objects)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(into, t.name+".yaml"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (t template) objects(root string) ([]*delivery.Object, error) {
	if t.folder != "" {
		return t.build(root, t.folder)
	}
	without, err := t.build(root, base)
	if err != nil {
		return nil, err
	}
	with, err := t.build(root, base, "../components/"+t.component)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, object := range without {
		known[object.GetKind()+" "+object.GetName()] = true
	}
	var added []*delivery.Object
	for _, object := range with {
		if !known[object.GetKind()+" "+object.GetName()] {
			added = append(added, object)
		}
	}
	return added, nil
}

func (t template) build(root, folder string, components ...string) ([]*delivery.Object, error) {
	o := render.Options{Namespace: namespace, NamePrefix: prefix, Components: components}
	if t.shared {
		o.Namespace, o.NamePrefix = "", ""
	}
	built, err := render.Folder(filepath.Join(root, folder), o)
	if err != nil {
		return nil, err
	}
	return built.Objects, nil
}

func (t template) text(objects []*delivery.Object) (string, error) {
	b := &strings.Builder{}
	fmt.Fprintf(b, "{{- /* Made by `make generate` from %s. Change that. */ -}}\n", source(t))
	if t.when != "" {
		fmt.Fprintf(b, "{{- if %s }}\n", t.when)
	}
	for _, object := range objects {
		prepare(object)
		raw, err := yaml.Marshal(object.Object)
		if err != nil {
			return "", err
		}
		manifest := "---\n" + asTemplate(string(raw))
		if object.GetKind() == "Namespace" { // that of the release is there before the chart is
			manifest = "{{- if ne (include \"moult.namespace\" .) .Release.Namespace }}\n" + manifest + "{{- end }}\n"
		}
		b.WriteString(manifest)
	}
	if t.when != "" {
		b.WriteString("{{- end }}\n")
	}
	return b.String(), nil
}

func source(t template) string {
	if t.folder != "" {
		return t.folder
	}
	return "clusters/components/" + t.component
}

// prepare puts words for values where Kustomize knows no name, and keeps what holds objects of others.
func prepare(object *delivery.Object) {
	switch object.GetKind() {
	case "CustomResourceDefinition", "Namespace":
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["helm.sh/resource-policy"] = "keep"
		object.SetAnnotations(annotations)
	case "FlowSchema", "PriorityLevelConfiguration": // Kustomize does not know that they lie in none
		object.SetNamespace("")
	case "Deployment":
		pod := object.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any) //nolint:errcheck // a Deployment has them
		container := pod["containers"].([]any)[0].(map[string]any)                                          //nolint:errcheck // the same
		container["image"] = image
		container["args"] = append(container["args"].([]any), moreArgs) //nolint:errcheck // the same
		pod["imagePullSecrets"] = pullSecrets
	}
	prefixRoles(object.Object)
}

// prefixRoles gives the label by which roles are aggregated a value of the installation's own.
func prefixRoles(within any) {
	switch of := within.(type) {
	case map[string]any:
		for key, value := range of {
			if text, is := value.(string); is && key == aggregateTo {
				of[key] = prefix + text
			}
			prefixRoles(value)
		}
	case []any:
		for _, value := range of {
			prefixRoles(value)
		}
	}
}

var lists = regexp.MustCompile(`(?m)^( *)(?:- ` + moreArgs + `|imagePullSecrets: ` + pullSecrets + `)\n`)

// asTemplate makes calls of helpers of the words. What looks like a call already is none.
func asTemplate(manifest string) string {
	manifest = strings.NewReplacer(
		"{{", `{{ "{{" }}`,
		prefix, `{{ .Values.namePrefix }}`,
		"system:serviceaccount:moult-system:moult-controller", `system:serviceaccount:{{ include "moult.namespace" . }}:{{ .Values.namePrefix }}moult-controller`,
		"name: "+namespace+"\n", "name: {{ include \"moult.namespace\" . | quote }}\n",
		"namespace: "+namespace+"\n", "namespace: {{ include \"moult.namespace\" . | quote }}\n",
		"image: "+image+"\n", "image: {{ include \"moult.image\" . | quote }}\n",
	).Replace(manifest)
	return lists.ReplaceAllStringFunc(manifest, func(line string) string {
		helper := "moult.args"
		if strings.Contains(line, pullSecrets) {
			helper = "moult.pullSecrets"
		}
		indent := len(line) - len(strings.TrimLeft(line, " "))
		return fmt.Sprintf("%[1]s{{- with include %[2]q . }}\n%[1]s{{- . | nindent %[3]d }}\n%[1]s{{- end }}\n", strings.Repeat(" ", indent), helper, indent)
	})
}
