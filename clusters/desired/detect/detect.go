// Package detect finds the files that are worth reading: those that may declare CRDs, or objects of Flux, Argo CD and others that
// install something. A text may be YAML, JSON, or a template of either. A guess may find too much, and leaves nothing out.
package detect

import (
	"bytes"
	"encoding/base64"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/words"
)

// CRD finds what may be a CRD.
var CRD = regexp.MustCompile(`kind` + isValue + `(CustomResourceDefinition|(CustomResourceDefinition)?List)\b`)

// MayDeclare reports whether a file may hold CRDs once it is read.
func MayDeclare(content []byte) bool {
	return bytes.Contains(content, []byte("CustomResourceDefinition")) || CRD.Match(content) || EncodedCRD.Match(content) || written.Match(content)
}

// EncodedCRD finds the same in base64, as data of a Secret has it, where the word begins at any of three places of a group. It
// also finds what gzip, bzip2, xz, zstd or zip has packed, which may be anything.
var EncodedCRD = func() *regexp.Regexp {
	const word = "CustomResourceDefinition"
	var encoded []string
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", before) + word))
		encoded = append(encoded, regexp.QuoteMeta(text[4*((before+2)/3):len(text)-4]))
	}
	return regexp.MustCompile(strings.Join(append(encoded, `\b(?:H4sI|Qlpo|KLUv/|UEsDB)`, `/Td6WFoA`), "|"))
}()

// isValue is what may stand between a key and its value, in YAML, JSON or a template of either. It is a tag, an anchor, a comment, or the sign
// of a text in several lines.
const isValue = `\\?["']?\s*:\s*(?:[!&]\S*\s+|#.*\n\s*|[>|][-+\d]*\s+)*\\?["']?`

// written finds letters that are written as numbers, or in UTF-16, and words that go on in another line.
var written = regexp.MustCompile(`\\(?:x[0-9a-fA-F]{2}|[uU][0-9a-fA-F]{4}|\r?\n)|\x00`)

// Tool finds what may be an object of Flux or Argo CD, in YAML, JSON or a template of either.
var Tool = regexp.MustCompile(`apiVersion` + isValue + `(argoproj\.io|[a-z.]+\.fluxcd\.io|fluxcd\.controlplane\.io)/`)

// Installer finds what may be an object of those that install something. Left out are those of the Operator Lifecycle Manager, which
// every bundle has, and webhooks, which every operator has.
var Installer = func() *regexp.Regexp {
	groups := slices.DeleteFunc(kinds.InstallerGroups(), func(group string) bool {
		return group == "operators.coreos.com" || group == "admissionregistration.k8s.io"
	})
	return regexp.MustCompile(`apiVersion` + isValue + `(` + strings.Join(words.Of(groups, regexp.QuoteMeta), "|") + `)/`)
}()

// Subscribes reports whether a file may hold what has the Operator Lifecycle Manager install an operator.
func Subscribes(content []byte) bool {
	return bytes.Contains(content, []byte("operators.coreos.com/")) && bytes.Contains(content, []byte("kind: Subscription"))
}

// MayDeliver reports whether what cannot be read may make Flux or Argo CD apply something. Argo's projects have many kinds that
// do not, such as Rollouts and Workflows.
func MayDeliver(content []byte) bool {
	return ofFlux.Match(content) || ofArgoCD.Match(content) || CRD.Match(content)
}

var (
	ofFlux = regexp.MustCompile(`fluxcd\.(io|controlplane\.io)/`)
	// ofArgoCD finds the kinds of Argo CD, and what may become one: a kind that a template fills in.
	ofArgoCD = regexp.MustCompile(`kind` + isValue + `(Application|\w*List\b|\w*[^\s\w"',}])`)
)

// GrantsCRDs reports whether a file may give a program the right to make CRDs.
func GrantsCRDs(content []byte) bool {
	names := func(content []byte) bool { return bytes.Contains(content, []byte("customresourcedefinitions")) }
	return bytes.Contains(content, []byte("cluster-admin")) || names(content) && names(looking.ReplaceAll(content, nil))
}

// looking finds a rule about CRDs with no verb that makes or deletes some, in YAML or JSON.
var looking = func() *regexp.Regexp {
	const verb = `["']?(?:get|list|watch|update|patch)["']?`
	const ends = `[ \t]*(?:\s*\z|\n[^\s-]|\n---|\n\s*(?:-\s*)?["']?\w+["']?\s*:)`
	return regexp.MustCompile(`customresourcedefinitions[^:{}]*?(?:\n[ \t]+|,\s*)["']?verbs["']?\s*:\s*(?:\[(?:\s*` + verb + `\s*,?)+\s*\]|(?:\s*-\s*` + verb + `)+` + ends + `)`)
}()

// YAML finds by its name a file of YAML, or a template of one.
var YAML = regexp.MustCompile(`\.ya?ml(?:\.j2)?$`)

// IsManifest reports by its name whether a file may hold manifests, or be a template of some.
func IsManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json", ".tpl"}, filepath.Ext(name)) || templateName.MatchString(name)
}

// templateName is that of a template in another language, such as crds.yaml.j2, and not of a file that was switched off (.bak).
var templateName = regexp.MustCompile(`(?i)\.ya?ml\.(?:j2|jinja2?|[a-z]*tmpl|tpl|template|erb|hbs|mustache|ejs|tera|liquid|njk|in|envsubst|enc|dec)$`)

// remark finds comments of a template.
var remark = regexp.MustCompile(`(?s)\{\{-?\s*/\*.*?\*/\s*-?\}\}`)

// WithoutComments is a text without comments, empty lines, and spaces at the ends of lines.
func WithoutComments(text string) string {
	if strings.Contains(text, "{{") {
		text = remark.ReplaceAllString(text, "")
	}
	var plain strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" && !strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") {
			plain.WriteString(line + "\n")
		}
	}
	return plain.String()
}
