// Package argocd gives Argo CD's sync engine Moult's verdicts in Go, for programs that embed the engine
// (github.com/argoproj/argo-cd/gitops-engine) and for tests. Argo CD itself loads no Go code; it runs the scripts in
// the folder lua, which answer the same.
//
// It is a Go module of its own because the engine's health package brings along all of k8s.io/kubernetes, which has no
// place in the controller. docs/decisions/0003-argocd-health-is-its-own-module.md gives the reasons.
package argocd
