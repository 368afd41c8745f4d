package preview

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// noManifest keeps a repository from being applied as a whole.
var noManifest = files{"notes.yaml": "a: b\n"}

// Each way to write a CRD in YAML or JSON is one that the API server is sent.
var written = map[string]func(string) string{
	"a space before the colon":  kindAs("kind : ${1}"),
	"a key in quotes":           kindAs(`"kind" : ${1}`),
	"a tag":                     kindAs("kind: !!str ${1}"),
	"an anchor":                 kindAs("kind: &k ${1}"),
	"a text of lines":           kindAs("kind: >-\n  ${1}"),
	"a comment":                 kindAs("kind: # what it is\n  ${1}"),
	"a letter as a number":      func(crd string) string { return strings.Replace(crd, "kind: CustomR", `kind: "\u0043ustomR`, 1) },
	"a letter of the key":       kindAs(`"k\x69nd": ${1}`),
	"a word that goes on below": func(crd string) string { return strings.Replace(crd, "kind: CustomR", "kind: \"Custom\\\n  R", 1) },
	"a directive":               func(crd string) string { return "%TAG !e! tag:example.com,2026:\n---\n" + crd },
	"a key of its own line":     kindAs("? kind\n: ${1}"),
	"UTF-16": func(crd string) string {
		bytes := []byte{0xff, 0xfe}
		for _, unit := range utf16.Encode([]rune(crd)) {
			bytes = append(bytes, byte(unit), byte(unit>>8))
		}
		return string(bytes)
	},
	"JSON": func(crd string) string {
		raw, _ := yaml.YAMLToJSON([]byte(crd))
		return strings.ReplaceAll(string(raw), `":`, `" : `)
	},
}

var kindLine = regexp.MustCompile("kind: (CustomResourceDefinition)\n")

func kindAs(text string) func(string) string {
	return func(crd string) string { return kindLine.ReplaceAllString(crd, text+"\n") }
}

func TestACRDIsSeenHoweverItIsWritten(t *testing.T) {
	for name, write := range written {
		before, after := write(widgetsCRD), write(without)
		for _, text := range []*string{&before, &after} { // a quote that was opened
			if strings.Contains(*text, `kind: "`) {
				*text = strings.Replace(*text, "ResourceDefinition\n", "ResourceDefinition\"\n", 1)
			}
		}
		t.Run(name, overlooked{common: noManifest, base: files{"d/w.yaml": before}, head: files{"d/w.yaml": after}}.isSeen)
	}
}

// packed is a chart in an archive.
func packed(t *testing.T, content files) string {
	t.Helper()
	var to bytes.Buffer
	zipped := gzip.NewWriter(&to)
	tarred := tar.NewWriter(zipped)
	for name, text := range content {
		NewWithT(t).Expect(tarred.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))})).To(Succeed())
		_, err := tarred.Write([]byte(text))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
	NewWithT(t).Expect(tarred.Close()).To(Succeed())
	NewWithT(t).Expect(zipped.Close()).To(Succeed())
	return to.String()
}

// A file that is no manifest by its name may be one that a script, or a person, applies.
func TestACRDIsSeenUnderWhateverName(t *testing.T) {
	chart := func(crd string) string { return packed(t, files{"c/Chart.yaml": chartC, "c/crds/w.yaml": crd}) }
	both := files{"a/both.yaml": widgetsCRD, "a/one.yaml": without, "notes.yaml": "a: b\n", "b/w.yaml": widgetsCRD, "c/w.yaml": without}
	for name, c := range map[string]overlooked{
		"no ending":                  {common: noManifest, base: files{"d/crds": widgetsCRD}, head: files{"d/crds": without}},
		"an ending in capitals":      {common: noManifest, base: files{"d/w.YML": widgetsCRD}, head: files{"d/w.YML": without}},
		"a text":                     {common: noManifest, base: files{"d/w.txt": widgetsCRD}, head: files{"d/w.txt": without}},
		"a script":                   {common: noManifest, base: files{"i.sh": "kubectl apply -f- <<E\n" + widgetsCRD + "E\n"}, head: files{"i.sh": "kubectl apply -f- <<E\n" + without + "E\n"}},
		"a chart, packed":            {common: noManifest, base: files{"p/c.tgz": chart(widgetsCRD)}, head: files{"p/c.tgz": chart(without)}},
		"another link":               {common: both, base: files{"d/w.yaml": "link:../a/both.yaml"}, head: files{"d/w.yaml": "link:../a/one.yaml"}},
		"another folder":             {common: both, base: files{"d": "link:b"}, head: files{"d": "link:c"}},
		"a link in place of a file":  {common: both, base: files{"d/w.yaml": widgetsCRD}, head: files{"d/w.yaml": "link:../a/one.yaml"}},
		"a link goes":                {common: both, base: files{"d/w.yaml": "link:../a/both.yaml"}, head: files{"d/x.yaml": configMap}},
		"a manifest is switched off": {common: noManifest, base: files{"d/w.yaml": widgetsCRD}, head: files{"d/w.yaml.disabled": widgetsCRD}},
		"a manifest becomes a text":  {common: noManifest, base: files{"d/w.yaml": widgetsCRD}, head: files{"d/w.txt": widgetsCRD}},
	} {
		t.Run(name, c.isSeen)
	}
}
