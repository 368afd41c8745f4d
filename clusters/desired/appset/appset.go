// Package appset makes the Applications of an ApplicationSet without a cluster, as far as its generators can be run so. These are list,
// git with directories or files, clusters that Secrets name, matrix and merge, with both kinds of templates. What takes a cluster,
// or is not known here, is an error that names it.
//
// Start with Applications; generators.go makes the parameters, and template.go fills them in.
package appset

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// Repository is what git generators look at.
type Repository interface {
	// Folders are the paths of all folders from the root, without hidden ones.
	Folders() []string
	// Files are the contents of all files by their paths from the root, as far as a path fits.
	Files(fits func(path string) bool) (map[string][]byte, error)
}

// Applications are those that a set makes of a repository, in the order of the generators. Clusters are those that Argo CD knows, nil
// if that is not known.
func Applications(set *delivery.Object, r Repository, clusters []Cluster) ([]*delivery.Object, error) {
	template, ok := set.Field("spec", "template").(map[string]any)
	if !ok && set.Field("spec", "generators") == nil {
		return nil, nil // a stub, which the API server refuses
	}
	if !ok {
		return nil, errors.New("it has no template")
	}
	g := &generating{repository: r, known: clusters, filler: fillerOf(set)}
	var all []parameters
	for _, generator := range set.Entries("spec", "generators") {
		given, err := g.run(generator, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, given...)
	}
	if len(all) == 0 {
		return nil, errors.New("its generators give nothing in this repository")
	}
	var applications []*delivery.Object
	for _, given := range all {
		application, err := g.application(template, set.Text("spec", "templatePatch"), given)
		if err != nil {
			return nil, err
		}
		application.SetNamespace(set.GetNamespace())
		applications = append(applications, application)
	}
	return applications, nil
}

// application fills in the template, and the patch over it.
func (g *generating) application(template map[string]any, patch string, given parameters) (*delivery.Object, error) {
	filled, err := g.fill(template, given)
	if err != nil {
		return nil, err
	}
	content, _ := filled.(map[string]any)
	if patch != "" {
		text, err := g.text(patch, given)
		if err == nil {
			content, err = patched(content, text)
		}
		if err != nil {
			return nil, fmt.Errorf("spec.templatePatch: %w", err)
		}
	}
	application := delivery.Wrap(content)
	application.SetAPIVersion("argoproj.io/v1alpha1")
	application.SetKind("Application")
	return application, nil
}

// patched puts a merge patch over an object. Lists are replaced: those of an Application have no keys to merge by.
// https://github.com/argoproj/argo-cd/blob/v3.5.7/applicationset/controllers/template/patch.go
func patched(object map[string]any, patch string) (merged map[string]any, err error) {
	over, err := unpacking.YAMLToJSON([]byte(patch))
	if err != nil || string(over) == "null" { // its template has made nothing
		return object, err
	}
	raw, err := json.Marshal(object)
	if err == nil {
		raw, err = jsonpatch.MergePatch(raw, over)
	}
	if err != nil {
		return nil, err
	}
	return merged, utiljson.Unmarshal(raw, &merged)
}

// isTemplated reports whether a text has a template in it.
func isTemplated(text string) bool { return strings.Contains(text, "{{") }
