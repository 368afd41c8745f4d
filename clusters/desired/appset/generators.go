package appset

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/policies/words"
)

// parameters are what a generator gives for one Application: by the names that a template calls them by, or for Go templates as
// a tree.
type parameters map[string]any

// generating is one ApplicationSet being expanded.
type generating struct {
	filler

	repository Repository
	known      []Cluster
}

// errCluster is for generators that only a cluster can run.
var errCluster = errors.New("what its generators give is not known without a cluster")

// run gives the parameters of one generator. outer are those of the first generator of a matrix, for the second.
func (g *generating) run(generator *delivery.Object, outer parameters) (given []parameters, err error) {
	if outer != nil {
		if generator, err = g.within(generator, outer); err != nil {
			return nil, err
		}
	}
	for _, kind := range []string{"list", "git", "clusters", "matrix", "merge"} {
		if hasContent(generator.Field(kind, "template")) {
			return nil, errors.New("its generators have templates of their own")
		}
	}
	switch {
	case generator.Field("list") != nil:
		given, err = g.list(generator)
	case generator.Field("git", "directories") != nil:
		given, err = g.folders(generator)
	case generator.Field("git", "files") != nil:
		given, err = g.files(generator)
	case generator.Field("clusters") != nil:
		given, err = g.clusters(generator)
	case generator.Field("matrix") != nil:
		given, err = g.matrix(generator.Entries("matrix", "generators"))
	case generator.Field("merge") != nil:
		given, err = g.merge(generator.Entries("merge", "generators"), generator.Texts("merge", "mergeKeys"))
	default:
		return nil, errCluster
	}
	if err != nil || generator.Field("selector") == nil {
		return given, err
	}
	return selected(given, generator.Field("selector"))
}

// within is the second generator of a matrix, with the parameters of the first filled in. Its own values wait for its own.
func (g *generating) within(generator *delivery.Object, outer parameters) (*delivery.Object, error) {
	without := runtime.DeepCopyJSON(generator.Object)
	for _, kind := range []string{"git", "clusters"} {
		if own, ok := without[kind].(map[string]any); ok {
			delete(own, "values")
		}
	}
	filled, err := g.fill(without, outer)
	if err != nil {
		return nil, err
	}
	content, _ := filled.(map[string]any)
	for _, kind := range []string{"git", "clusters"} {
		if own, ok := content[kind].(map[string]any); ok && generator.Field(kind, "values") != nil {
			own["values"] = generator.Field(kind, "values")
		}
	}
	return delivery.Wrap(content), nil
}

// hasContent reports whether there is any text, number or list in a value. An ApplicationSet that was read from a cluster has
// templates without any.
func hasContent(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), hasContent)
	case nil:
		return false
	}
	return value != ""
}

func (g *generating) list(generator *delivery.Object) (all []parameters, err error) {
	elements := generator.Entries("list", "elements")
	if text := generator.Text("list", "elementsYaml"); text != "" {
		var more []map[string]any
		if err := unpacking.Unmarshal([]byte(text), &more); err != nil {
			return nil, fmt.Errorf("its list of elements: %w", err)
		}
		for _, element := range more {
			elements = append(elements, delivery.Wrap(element))
		}
	}
	for _, element := range elements {
		all = append(all, g.treeOf(element.Object))
	}
	return all, nil
}

// treeOf are the parameters that a map stands for.
func (g *generating) treeOf(content map[string]any) parameters {
	if g.isGo {
		return parameters(content)
	}
	return flat(content)
}

// flat names what is inside of maps and lists by the way there, with dots.
func flat(content map[string]any) parameters {
	given := parameters{}
	for at, value := range crdschema.Each(content) {
		switch value.(type) {
		case map[string]any, []any, nil:
		default:
			given[strings.Join(words.Of(at, func(step any) string { return fmt.Sprint(step) }), ".")] = fmt.Sprint(value)
		}
	}
	return given
}

// matrix gives each pair of what two generators give; the second sees the parameters of the first.
func (g *generating) matrix(generators []*delivery.Object) (all []parameters, err error) {
	const two = 2
	if len(generators) != two {
		return nil, errors.New("its matrix has not two generators")
	}
	first, err := g.run(generators[0], nil)
	if err != nil {
		return nil, err
	}
	for _, one := range first {
		second, err := g.run(generators[1], one)
		if err != nil {
			return nil, err
		}
		for _, other := range second {
			all = append(all, merged(other, one))
		}
	}
	return all, nil
}

// merge puts what other generators give over the parameters of the first that have the same keys.
func (g *generating) merge(generators []*delivery.Object, keys []string) (all []parameters, err error) {
	for i, generator := range generators {
		given, err := g.run(generator, nil)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			all = given
			continue
		}
		for j := range all {
			for _, over := range given {
				if keyOf(all[j], keys) == keyOf(over, keys) {
					all[j] = merged(all[j], over)
				}
			}
		}
	}
	return all, nil
}

func keyOf(given parameters, keys []string) string {
	of := map[string]any{}
	for _, key := range keys {
		of[key] = given[key]
	}
	raw, err := json.Marshal(of)
	return string(raw) + fmt.Sprint(err)
}

// merged are parameters with others over them.
func merged(below, above parameters) parameters {
	all := maps.Clone(below)
	for key, value := range above {
		was, isMap := all[key].(map[string]any)
		now, areBoth := value.(map[string]any)
		if isMap && areBoth {
			value = map[string]any(merged(was, now))
		}
		all[key] = value
	}
	return all
}

// selectorOf is a selector of labels as it is written.
func selectorOf(written any) (labels.Selector, error) {
	content, _ := written.(map[string]any)
	var selector metav1.LabelSelector
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &selector)
	if err != nil {
		return nil, fmt.Errorf("its selector: %w", err)
	}
	matches, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return nil, fmt.Errorf("its selector: %w", err)
	}
	return matches, nil
}

// selected are the parameters that a selector of labels matches.
func selected(given []parameters, by any) (kept []parameters, err error) {
	matches, err := selectorOf(by)
	if err != nil {
		return nil, err
	}
	for _, one := range given {
		set := labels.Set{}
		for key, value := range flat(one) {
			set[key] = fmt.Sprint(value)
		}
		if matches.Matches(set) {
			kept = append(kept, one)
		}
	}
	return kept, nil
}
