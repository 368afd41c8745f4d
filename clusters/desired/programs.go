package desired

import (
	"bytes"
	"crypto/sha256"

	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/render"
)

// ofPrograms are the languages of configuration whose files are manifests only once a program has evaluated them.
var ofPrograms = map[string]string{".jsonnet": "Jsonnet", ".libsonnet": "Jsonnet", ".cue": "CUE", ".k": "KCL", ".dhall": "Dhall", ".ncl": "Nickel"}

// program is what the files of one language amount to.
type program struct {
	// about is the first file that has to do with CRDs, empty if there is none.
	about string
	all   []byte
}

// noteProgram remembers a file of such a language. Any of them may decide about what another one makes.
func (e *everywhere) noteProgram(file, language string) error {
	content, err := render.ReadAsIs(file)
	if err != nil || detect.ForReading(e.tree.Dir, file) {
		return err
	}
	e.tree.Reads.File(file)
	p := e.programs[language]
	if p.about == "" && bytes.Contains(content, []byte("CustomResourceDefinition")) {
		p.about = file
	}
	sum := sha256.Sum256(content)
	p.all = append(append(p.all, e.tree.Relative(file)...), sum[:]...)
	e.programs[language] = p
	return nil
}

// findPrograms adds the languages that make CRDs.
func (e *everywhere) findPrograms() {
	for language, p := range e.programs {
		if p.about != "" {
			e.hidden(p.about, p.all, "it is about CRDs, and "+language+" has to be run to see them: name what it prints by --also and --also-base")
		}
	}
}
