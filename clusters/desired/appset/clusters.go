package appset

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// Cluster is one that Argo CD knows, as the Secret about it says.
type Cluster struct {
	Name, Server, Project string
	Labels, Annotations   map[string]string
}

// SecretType is the label of a Secret about a cluster.
// https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#clusters
const SecretType = "argocd.argoproj.io/secret-type"

// Clusters are those that Secrets are about, by name. What they hold of credentials is not looked at, and may be missing.
func Clusters(file string, content []byte) ([]Cluster, error) {
	read, err := render.Stream(file, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	byName := map[string]Cluster{}
	for _, secret := range read.Objects {
		if !IsCluster(secret) {
			continue
		}
		one := Cluster{Labels: secret.GetLabels(), Annotations: secret.GetAnnotations()}
		for key, to := range map[string]*string{"name": &one.Name, "server": &one.Server, "project": &one.Project} {
			if *to, err = textIn(secret, key); err != nil {
				return nil, fmt.Errorf("%s: Secret %s: %s: %w", file, secret.GetName(), key, err)
			}
		}
		byName[one.Name] = one
	}
	if len(byName) == 0 {
		return nil, fmt.Errorf("%s holds no Secret with the label %s: cluster", file, SecretType)
	}
	all := make([]Cluster, 0, len(byName))
	for _, one := range byName {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// IsCluster reports whether an object is a Secret about a cluster.
func IsCluster(object *delivery.Object) bool {
	return object.Is("", "Secret") && object.GetLabels()[SecretType] == "cluster"
}

// MakesCluster reports whether such a Secret is made of an object, as of an ExternalSecret with its labels.
func MakesCluster(object *delivery.Object) bool { return HoldsKey(object.Field("spec"), SecretType) }

// textIn is an entry of a Secret, empty if there is none.
func textIn(secret *delivery.Object, key string) (string, error) {
	if plain := secret.Text("stringData", key); plain != "" {
		return plain, nil
	}
	text, err := base64.StdEncoding.DecodeString(secret.Text("data", key))
	return string(text), err
}

// clusters gives the clusters whose labels a selector matches. Without a selector, the cluster that Argo CD runs in is one of
// them.
// https://github.com/argoproj/argo-cd/blob/v3.5.7/applicationset/generators/cluster.go
func (g *generating) clusters(generator *delivery.Object) (all []parameters, err error) {
	if g.known == nil {
		return nil, errClusters
	}
	matches, err := selectorOf(generator.Field("clusters", "selector"))
	if err != nil {
		return nil, err
	}
	known, isOwn := g.known, func(c Cluster) bool { return c.Server == delivery.OwnServer }
	if matches.Empty() && !slices.ContainsFunc(known, isOwn) {
		known = append(slices.Clone(known), Cluster{Name: delivery.OwnCluster, Server: delivery.OwnServer})
	}
	for _, one := range known {
		if !matches.Matches(labels.Set(one.Labels)) {
			continue
		}
		given := g.parametersOf(one)
		if err := g.addValues(given, generator.TextMap("clusters", "values")); err != nil {
			return nil, err
		}
		all = append(all, given)
	}
	if generator.True("clusters", "flatList") {
		list := make([]any, len(all))
		for i, given := range all {
			list[i] = map[string]any(given)
		}
		all = []parameters{{"clusters": list}}
	}
	return all, nil
}

// errClusters is for a cluster generator when nothing is known about the clusters.
var errClusters = errors.New("which clusters Argo CD knows is not known; name their Secrets with --cluster-secrets")

func (g *generating) parametersOf(c Cluster) parameters {
	given := parameters{"name": c.Name, "nameNormalized": normalized(c.Name), "server": c.Server, "project": c.Project}
	metadata := map[string]any{}
	for field, values := range map[string]map[string]string{"labels": c.Labels, "annotations": c.Annotations} {
		all := map[string]any{}
		for key, value := range values {
			all[key] = value
			if !g.isGo {
				given["metadata."+field+"."+key] = value
			}
		}
		if len(all) > 0 {
			metadata[field] = all
		}
	}
	if g.isGo && c.Labels != nil { // the cluster that Argo CD runs in has none
		given["metadata"] = metadata
	}
	return given
}
