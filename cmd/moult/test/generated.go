package test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/generate"
	"github.com/moult-dev/moult/policies/roundtrip"
)

// atOnce is how many objects of a version are made before they are taken there and back.
const atOnce = 100

// generated makes objects of each version and takes them there and back, and makes those smaller that show something.
func (r *command) generated(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, e *conversion.Engine, checker *roundtrip.Checker, counts *roundtrip.Counts, config roundtrip.Config) {
	generators, shrinkers := r.generators(crd, e, config)
	var last []roundtrip.Object
	made := map[string]int{}
	for done := 0; done < r.fuzz && ctx.Err() == nil; done += atOnce {
		n := min(atOnce, r.fuzz-done)
		last = nil
		for _, version := range e.Served() {
			g := generators[version]
			if g == nil {
				continue
			}
			some := g.Make(ctx, n)
			counts.ThrownAway(some.ThrownAway)
			for i, content := range some.Objects {
				last = append(last, roundtrip.Object{Name: fmt.Sprintf("generated %s %d", version, made[version]+i+1), Content: content, Generated: true})
			}
			if made[version] += len(some.Objects); len(some.Objects) < n && ctx.Err() == nil {
				counts.NotLookedAt(version, fmt.Sprintf("of %d objects, only %d could be made that the API server takes; the last was thrown away as %s", r.fuzz, made[version], some.Why))
				generators[version] = nil
			}
		}
		checker.Check(ctx, last, counts)
	}
	for version, g := range generators {
		if g != nil {
			counts.Missed(version, g.Missed())
		}
	}
	checker.Shrink(ctx, counts, shrinkers, last)
}

// generators are those of each version. Each has a chance of its own, so that the objects of one CRD do not depend on another.
func (r *command) generators(crd *apiextensionsv1.CustomResourceDefinition, e *conversion.Engine, config roundtrip.Config) (map[string]*generate.Generator, map[string]roundtrip.Shrinker) {
	generators, shrinkers := map[string]*generate.Generator{}, map[string]roundtrip.Shrinker{}
	for _, version := range e.Served() {
		name := fnv.New64a()
		_, _ = name.Write([]byte(crd.Name + "/" + version)) // it does not fail
		g := generate.New(e, generate.Options{
			Version: version, APIVersion: crd.Spec.Group + "/" + version, Kind: crd.Spec.Names.Kind,
			Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped, Values: config.ValuesOf(crd.Name),
		}, rand.New(rand.NewPCG(r.seed, name.Sum64()))) //nolint:gosec // objects of a test, not secrets
		generators[version], shrinkers[version] = g, g
	}
	return generators, shrinkers
}
