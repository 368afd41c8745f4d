package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/delivery"
)

var (
	ofYAML = regexp.MustCompile(`\.ya?ml(?:\.j2)?$`)
	// ofCommands are files that may have commands.
	ofCommands = regexp.MustCompile(`/(?:GNU)?[Mm]akefile$|/[Jj]ustfile$|\.(?:mk|sh|bash|ya?ml)$`)
	// installing are tools that have what they install, or fetch it.
	installing = []string{"clusterctl", "cilium", "istioctl", "linkerd", "kapp", "operator-sdk"}
	// applying is a command in one line, in lines that go on, or in a list of arguments, or one to which another pipes what it has fetched.
	applying = regexp.MustCompile(`(?:\b(?:curl|wget)\b|https?://|github\.com/)(?:[^\n]|[\\|]\n)*\|(?:[^\n]|[\\|]\n)*\b(?:kubectl|oc)\b[^\n]*\b(?:apply|create|replace)\b` + restOfCommand + `|\b(?:kubectl|oc)\b` + goesOn + `\b(?:apply|create|replace)\b` + goesOn + `(?:https?://|github\.com/|-[fk][\s"',]+\$)[^\n]*(?:\n[\s"',-]*(?:-[fk]\b|--filename|https?://)[^\n]*)*`)
	// variable is one that a command names.
	variable = regexp.MustCompile(`\$[({]*(\w+)`)
)

const (
	goesOn        = `(?:[^\n]|\\\n|\n\s*-\s){0,300}?`
	restOfCommand = `(?:[^\n]*\\\n)*[^\n]*`
)

// running are the kinds of objects that run commands, or hold scripts for others that do.
var running = []string{
	"Job", "CronJob", "Pod", "Deployment", "DaemonSet", "StatefulSet", "ConfigMap",
	"Task", "Pipeline", "Workflow", "CronWorkflow", "WorkflowTemplate", "ClusterWorkflowTemplate", // of Tekton and Argo
}

// findCommands notes an object whose commands install or delete what is in no manifest.
func (f *follower) findCommands(object *delivery.Object, u *delivery.Unit) {
	if !slices.Contains(running, object.GetKind()) {
		return
	}
	raw, err := json.Marshal([]any{object.Field("spec"), object.Field("data")})
	if err != nil {
		return
	}
	about, text := "", []byte(nil)
	for _, tool := range others {
		if !tool.only || !tool.mayBeIn(raw) {
			continue
		}
		if text == nil {
			text, _ = yaml.JSONToYAML(raw) // lines, as a person writes them
		}
		about += commandsIn(tool, string(text))
	}
	if about == "" {
		return
	}
	p := &fingerprint{follower: f, sum: sha256.New(), objects: map[*unstructured.Unstructured]bool{}}
	p.write("commands", about)
	p.lent(object.GetNamespace(), "", object.Field("spec")) // variables may be there
	f.cluster.Unseen = append(f.cluster.Unseen, delivery.Unseen{
		Name: delivery.WithoutHash(nameOf(object, u)), By: object, Why: "a command in it installs, changes or deletes what is in no manifest", Fingerprint: hex.EncodeToString(p.sum.Sum(nil)),
	})
}

// commandsIn are those of a tool in a text, with what gives values to their variables.
func commandsIn(tool otherTool, text string) string {
	found := tool.holds.FindAllString(text, -1)
	return strings.Join(found, "\n") + definitions(text, found)
}

// mostVariables are looked up, each in a whole text. Where there are more, all of the text counts.
const mostVariables = 100

// definitions are the lines of a text that give values to the variables that others of its lines name.
func definitions(text string, named []string) string {
	var found strings.Builder
	for known := map[string]bool{}; len(named) > 0; named = named[1:] {
		for _, name := range variable.FindAllStringSubmatch(named[0], -1) {
			if known[name[1]] {
				continue
			}
			if known[name[1]] = true; len(known) > mostVariables {
				return text
			}
			for _, line := range regexp.MustCompile(`(?m)^.*\b`+name[1]+`\b["']?(?:\s*[:?+]{0,2}[:=](?:\\\n|[^\n])*|\s*\n\s*value:[^\n]*)`).FindAllString(text, -1) {
				found.WriteString(line + "\n")
				named = append(named, line)
			}
		}
	}
	return found.String()
}
