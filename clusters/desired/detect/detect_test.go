package detect_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/desired/detect"
)

// A rule that only lets look at CRDs, or change them, makes none. What cannot be told counts.
func TestLookingAtCRDsGrantsNothing(t *testing.T) {
	const of = "- apiGroups: [a]\n  resources: [customresourcedefinitions, x]\n  verbs:"
	for text, grants := range map[string]bool{
		of + " [\"list\", 'watch']\n":                  false,
		of + " [list, create]\n":                       true,
		of + " [get\n    , create]\n":                  true,
		of + "\n  - get\n  - list\n- apiGroups: []\n":  false,
		of + "\n    - get\n---\nkind: X\n":             false,
		of + "\n  - get\n  - update":                   false,
		of + "\n  - get\n  - create\n  - watch\n":      true,
		of + "\n  - get\n  - \"*\"\n":                  true,
		of + "\n  - get\n  -\n    create\n":            true,
		of + "\n  - get\n  # more\n  - create\n":       true,
		of + "\n  - get\n  {{- if .x }}\n  - create\n": true,
		of + " {{ .x }}\n":                             true,
		of + " [updates]\n":                            true,
		of + " [get]\n" + of + " [delete]\n":           true,
		"- verbs: [create]\n  resources: [customresourcedefinitions]\n- verbs: [get]\n":                   true,
		"[{verbs: [create], resources: [customresourcedefinitions]}, {verbs: [get], resources: [x]}]":     true,
		"{\"resources\": [\"customresourcedefinitions\"], \"verbs\": [\"get\", \"list\"]}":                false,
		"{\"resources\": [\"customresourcedefinitions\"], \"verbs\": [\"get\", \"*\"]}":                   true,
		of + " [get]\n---\nkind: ClusterRoleBinding\nroleRef: {kind: ClusterRole, name: cluster-admin}\n": true,
	} {
		NewWithT(t).Expect(detect.GrantsCRDs([]byte(text))).To(Equal(grants), text)
	}
}
