package survey

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/words"
)

// prober finds out on how many CRDs each patch sets the opt-in label. Kustomize does not tell, and says nothing of a
// patch that selects nothing. So every such patch is given a label of its own to set, in a second build that is
// not shown, and the CRDs that carry it are counted.
type prober struct {
	labelKey string
	patches  []delivery.Patch
	known    map[string]int // by the place of the patch, since a component may be read more than once
}

// buildAndProbe builds a folder. The options' patches are those of the object that delivers them, which stand in a field of it.
func buildAndProbe(dir string, o render.Options, field []string, labelKey string) (*render.Rendering, []delivery.Patch, error) {
	looking, probing := newProber(labelKey), newProber(labelKey)
	changed := o
	changed.Patches = slices.Clone(o.Patches)
	for i := range changed.Patches {
		if patch := &changed.Patches[i]; probing.sets(patch.Patch) {
			patch.Patch = probing.probe(patch.Patch, delivery.Patch{Field: delivery.Under(field, strconv.Itoa(i))})
		}
	}
	o.Edit, changed.Edit = looking.find, probing.edit
	rendering, err := render.Folder(dir, o)
	if err != nil || len(looking.patches)+len(probing.patches) == 0 {
		return rendering, nil, err
	}
	probed, err := render.Folder(dir, changed)
	if err != nil {
		return rendering, nil, nil //nolint:nilerr // the build itself is fine; how far its patches reach cannot be told
	}
	for _, object := range probed.Objects {
		for i := range probing.patches {
			if _, reached := object.GetLabels()[probeKey(i)]; reached && object.GetKind() == "CustomResourceDefinition" {
				probing.patches[i].Reached++
			}
		}
	}
	return rendering, probing.patches, nil
}

func newProber(labelKey string) *prober {
	return &prober{labelKey: labelKey, known: map[string]int{}}
}

// probeKey does not contain the opt-in label's key, whatever that is.
func probeKey(i int) string { return "probe.moult.dev/" + strconv.Itoa(i) }

// find finds the patches of a kustomization and changes nothing.
func (p *prober) find(file string, content []byte) ([]byte, error) {
	_, err := p.edit(file, content)
	return content, err
}

// edit gives the patches of a kustomization labels of their own to set.
func (p *prober) edit(file string, content []byte) ([]byte, error) {
	kustomization, err := yaml.Parse(string(content))
	if err != nil {
		return content, nil //nolint:nilerr // Kustomize has a better message
	}
	patches, err := Elements(kustomization, "patches")
	if err != nil {
		return content, nil //nolint:nilerr // the same
	}
	lines, changed := patchLines(file), false
	for i, entry := range patches {
		text, err := patchText(entry, filepath.Dir(file))
		if err != nil || i >= len(lines) || !p.sets(text) {
			continue // it is not in the file, but was added by a delivery
		}
		probe := yaml.SetField("patch", yaml.NewStringRNode(p.probe(text, delivery.Patch{File: fileOf(file), Line: lines[i]})))
		if err := errors.Join(entry.PipeE(yaml.Clear("path")), entry.PipeE(probe)); err != nil {
			return nil, err
		}
		changed = true
	}
	if !changed {
		return content, nil
	}
	edited, err := kustomization.String()
	return []byte(edited), err
}

// patchText is the patch of an entry, which may name a file in place of it.
func patchText(entry *yaml.RNode, dir string) (string, error) {
	path := textOf(entry, "path")
	if path == "" {
		return textOf(entry, "patch"), nil
	}
	content, err := os.ReadFile(filepath.Join(dir, path))
	return string(content), err
}

// probe changes the text of a patch and remembers it.
func (p *prober) probe(text string, at delivery.Patch) string {
	place := fmt.Sprint(at.File, at.Line, at.Field)
	i, ok := p.known[place]
	if !ok {
		i = len(p.patches)
		p.known[place] = i
		p.patches = append(p.patches, at)
	}
	probe := strings.NewReplacer(p.labelKey, probeKey(i), pointerTo(p.labelKey), pointerTo(probeKey(i))).Replace(text)
	if p.takesOff(text) {
		p.patches[i].TakesOff = true
		return setting(probe, probeKey(i))
	}
	return probe
}

// takesOff reports whether a strategic merge patch has null for the label, which takes it off what the patch matches.
func (p *prober) takesOff(patch string) bool {
	parsed, err := yaml.Parse(patch)
	if err != nil || parsed.YNode().Kind != yaml.MappingNode {
		return false
	}
	label, err := parsed.Pipe(yaml.Lookup("metadata", "labels", p.labelKey))
	return err == nil && label != nil && label.IsTaggedNull()
}

// setting is a strategic merge patch that sets a label in place of taking it off.
func setting(patch, labelKey string) string {
	parsed, err := yaml.Parse(patch)
	if err != nil {
		return patch
	}
	if err := parsed.PipeE(yaml.Lookup("metadata", "labels"), yaml.SetField(labelKey, yaml.NewStringRNode("matched"))); err != nil {
		return patch
	}
	text, err := parsed.String()
	if err != nil {
		return patch
	}
	return text
}

func pointerTo(key string) string { return strings.ReplaceAll(key, "/", "~1") }

// sets reports whether a strategic merge patch or a JSON patch sets the opt-in label.
func (p *prober) sets(patch string) bool {
	parsed, err := yaml.Parse(patch)
	if err != nil {
		return false
	}
	if parsed.YNode().Kind != yaml.SequenceNode {
		label, err := parsed.Pipe(yaml.Lookup("metadata", "labels", p.labelKey))
		return err == nil && label != nil
	}
	operations, err := parsed.Elements()
	return err == nil && slices.ContainsFunc(operations, func(operation *yaml.RNode) bool {
		switch path := textOf(operation, "path"); path {
		case "/metadata/labels/" + pointerTo(p.labelKey):
			return textOf(operation, "op") != "remove"
		case "/metadata/labels":
			label, err := operation.Pipe(yaml.Lookup("value", p.labelKey))
			return err == nil && label != nil
		}
		return false
	})
}

// clone is where Kustomize puts a repository that it has fetched.
var clone = regexp.MustCompile(`^.*/kustomize-\d+/`)

// fileOf is how a person knows a file.
func fileOf(file string) string {
	if fetched := clone.FindString(filepath.ToSlash(file)); fetched != "" {
		return "(remote) " + filepath.ToSlash(file)[len(fetched):]
	}
	return relative(file)
}

// patchLines are the lines at which a kustomization's own patches begin.
func patchLines(file string) []int {
	kustomization, err := yaml.ReadFile(file)
	if err != nil {
		return nil
	}
	patches, err := Elements(kustomization, "patches")
	if err != nil {
		return nil
	}
	return words.Of(patches, func(patch *yaml.RNode) int { return patch.YNode().Line })
}

// SetsLabel reports whether a patch of a kustomization itself sets the opt-in label, or takes it off.
func SetsLabel(kustomization *yaml.RNode, dir, labelKey string) bool {
	patches, err := Elements(kustomization, "patches")
	p := newProber(labelKey)
	return err == nil && slices.ContainsFunc(patches, func(entry *yaml.RNode) bool {
		text, err := patchText(entry, dir)
		return err == nil && p.sets(text)
	})
}

// Elements of a list, none if there is no list.
func Elements(node *yaml.RNode, field string) ([]*yaml.RNode, error) {
	list, err := node.Pipe(yaml.Lookup(field))
	if err != nil || list == nil || list.YNode().Kind != yaml.SequenceNode {
		return nil, err
	}
	return list.Elements()
}

// textOf is the value of a field, empty if there is none.
func textOf(node *yaml.RNode, field string) string {
	value, err := node.Pipe(yaml.Lookup(field))
	if err != nil || value == nil {
		return ""
	}
	return value.YNode().Value
}
