package optin

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/moult-dev/moult/clusters/desired/survey"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/words"
)

// kustomization is a kustomization file that can be changed without disturbing it.
type kustomization struct {
	content []byte
	node    *yaml.RNode
}

func parseKustomization(file string, content []byte) (kustomization, error) {
	node, err := yaml.Parse(string(content))
	if err != nil {
		return kustomization{}, fmt.Errorf("%s is not YAML: %w", file, err)
	}
	if node.IsNilOrEmpty() {
		node = yaml.NewMapRNode(nil)
	}
	if node.YNode().Kind != yaml.MappingNode {
		return kustomization{}, fmt.Errorf("%s is not a kustomization", file)
	}
	return kustomization{content: content, node: node}, nil
}

// components are those that it lists.
func (k kustomization) components() []string {
	list, err := survey.Elements(k.node, "components")
	if err != nil {
		return nil
	}
	return words.Of(list, func(component *yaml.RNode) string { return component.YNode().Value })
}

// optsIn reports whether it, or a component that it lists, sets the opt-in label already.
func (k kustomization) optsIn(dir, labelKey string) bool {
	return survey.SetsLabel(k.node, dir, labelKey) || slices.ContainsFunc(k.components(), func(component string) bool {
		if strings.Contains(component, "/clusters/components/opt-in") {
			return true // the one in Moult's repository
		}
		folder := filepath.Join(dir, component)
		content, err := os.ReadFile(render.KustomizationIn(folder))
		if err != nil {
			return false
		}
		listed, err := parseKustomization(component, content)
		return err == nil && survey.SetsLabel(listed.node, folder, labelKey)
	})
}

// withComponent lists a component after the others. Only the lines that it takes are new, unless the list is written in
// a way that lines cannot be added to. Then the file is written anew, with its comments and in its order.
func (k kustomization) withComponent(reference string) ([]byte, error) {
	want := append(k.components(), reference)
	for _, write := range []func(string) ([]byte, error){k.withLine, k.rewritten} {
		edited, err := write(reference)
		if err != nil {
			continue
		}
		if again, err := parseKustomization("", edited); err == nil && slices.Equal(again.components(), want) && again.equalsBut(k) {
			return edited, nil
		}
	}
	return nil, errors.New("it is written in a way that a component cannot be added to; add it by hand")
}

// withLine adds a line below the last component, or a list at the end of the file.
func (k kustomization) withLine(reference string) ([]byte, error) {
	lines := bytes.SplitAfter(k.content, []byte("\n"))
	if last := len(lines) - 1; len(lines[last]) == 0 {
		lines = lines[:last]
	} else {
		lines[last] = append(slices.Clone(lines[last]), '\n')
	}
	list := k.node.Field("components")
	if list == nil {
		lines = append(lines, []byte("components:\n  - "+reference+"\n"))
		return bytes.Join(lines, nil), nil
	}
	items := list.Value.Content()
	if len(items) == 0 || list.Value.YNode().Style&yaml.FlowStyle != 0 {
		return nil, errors.New("there is no line to add one below")
	}
	last := items[len(items)-1]
	before, _, found := bytes.Cut(lines[last.Line-1], []byte("-"))
	if !found {
		return nil, errors.New("the last item is not in a line of its own")
	}
	return bytes.Join(slices.Insert(lines, last.Line, fmt.Appendf(nil, "%s- %s\n", before, reference)), nil), nil
}

// rewritten is the whole file as kyaml writes it.
func (k kustomization) rewritten(reference string) ([]byte, error) {
	node, added := k.node.Copy(), yaml.NewListRNode(reference)
	if list := node.Field("components"); list != nil && list.Value.YNode().Kind == yaml.SequenceNode {
		added = list.Value
		if err := added.PipeE(yaml.Append(yaml.NewStringRNode(reference).YNode())); err != nil {
			return nil, err
		}
	}
	if err := node.PipeE(yaml.SetField("components", added)); err != nil {
		return nil, err
	}
	text, err := wide(node)
	return []byte(text), err
}

// equalsBut reports whether two kustomizations say the same apart from their components.
func (k kustomization) equalsBut(other kustomization) bool {
	rest := func(k kustomization) string {
		node := k.node.Copy()
		if err := node.PipeE(yaml.Clear("components")); err != nil {
			return err.Error()
		}
		raw, err := node.MarshalJSON()
		if err != nil {
			return err.Error()
		}
		return string(raw)
	}
	return rest(k) == rest(other)
}
