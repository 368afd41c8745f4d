package scan

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
func (s *scan) noteProgram(file, language string) error {
	content, err := render.ReadAsIs(file)
	if err != nil || detect.ForReading(s.tree.Dir, file) {
		return err
	}
	s.tree.Reads.File(file)
	p := s.programs[language]
	if p.about == "" && bytes.Contains(content, []byte("CustomResourceDefinition")) {
		p.about = file
	}
	sum := sha256.Sum256(content)
	p.all = append(append(p.all, s.tree.Relative(file)...), sum[:]...)
	s.programs[language] = p
	return nil
}

// findPrograms adds the languages that make CRDs.
func (s *scan) findPrograms() {
	for language, p := range s.programs {
		if p.about != "" {
			s.hidden(p.about, p.all, "it is about CRDs, and "+language+" has to be run to see them: name what it prints by --also and --also-base")
		}
	}
}
