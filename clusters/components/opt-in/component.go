// Package optin holds the opt-in Component, for programs that write it into other repositories. The Component is
// kustomization.yaml in this folder; change it there.
package optin

import _ "embed" // the Component

// Component is the Component's kustomization.yaml.
//
//go:embed kustomization.yaml
var Component []byte

// Remote is where Kustomize fetches the Component from, when a tag or a commit of this repository follows.
const Remote = "https://github.com/moult-dev/moult//clusters/components/opt-in?ref="
