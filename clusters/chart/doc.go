// Package chart is the Helm chart of Moult. Its manifests are not written twice. Those in templates/generated are made
// from the kustomizations in clusters/base, clusters/components and policies/admission by the program in generate, and
// `make verify` fails when they are not up to date. By hand are values.yaml and its schema, the other templates, and
// the README but for its table, which is made from values.yaml.
//
// The test renders the chart and builds the kustomizations, and expects the same objects. Start with chart_test.go.
package chart

//go:generate go run ./generate
