package delivery_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/delivery"
)

const heldCRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: w}\nspec: {versions: [{name: v1, additionalPrinterColumns: [{priority: 1}]}]}\n"

// bzip2ed is heldCRD, packed with bzip2, which Go only unpacks.
const bzip2ed = "QlpoOTFBWSZTWZ3G+g4AABffgAAQQAWgUAwAUQovL9/qIACUDU9TUmnqeTTaJNBhHonqDUnqaeo9I0AGQyaB8byQA5lBcBxIJv64xW8Of0i4RisYiQJisyajKLBc8YV0gN8t+qxcO9ZaQzJCTVvTKnkEN4RlhINCqg+4tDMQ8Ov7VpC4VmxSUk56WviInaC8bTL6coT+sef4u5IpwoSE7jfQcA=="

func packed(text string) string {
	var to bytes.Buffer
	w := gzip.NewWriter(&to)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(to.Bytes())
}

// Whatever an object is, the CRDs in it are found.
func TestTheCRDsInsideOfAnObject(t *testing.T) {
	crd := map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "w"}, "spec": map[string]any{}}
	for name, c := range map[string]struct {
		content      map[string]any
		crds, unread int
	}{
		"an object in a list":      {map[string]any{"kind": "ManifestWork", "spec": map[string]any{"manifests": []any{crd, crd}}}, 2, 0},
		"a text":                   {map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": heldCRD, "b": "---\n" + heldCRD + "---\n" + heldCRD}}, 3, 0},
		"a text in a text":         {map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": "kind: ConfigMap\ndata:\n  b: '{\"apiVersion\": \"apiextensions.k8s.io/v1\", \"kind\": \"CustomResourceDefinition\", \"spec\": {}}'\n"}}, 1, 0},
		"base64":                   {map[string]any{"kind": "Secret", "data": map[string]any{"a": base64.StdEncoding.EncodeToString([]byte(heldCRD))}}, 1, 0},
		"gzip in base64":           {map[string]any{"kind": "ConfigMap", "binaryData": map[string]any{"a": packed(heldCRD)}}, 1, 0},
		"bzip2 in base64":          {map[string]any{"kind": "ConfigMap", "binaryData": map[string]any{"a": bzip2ed}}, 1, 0},
		"a template":               {map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": "{{ if .x }}\n" + heldCRD + "{{ end }}\n"}}, 0, 1},
		"words about CRDs":         {map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": "A CustomResourceDefinition is of apiextensions.k8s.io"}}, 0, 0},
		"a rule of RBAC":           {map[string]any{"kind": "ClusterRole", "rules": []any{map[string]any{"apiGroups": []any{"apiextensions.k8s.io"}, "resources": []any{"customresourcedefinitions"}}}}, 0, 0},
		"what kubectl has applied": {map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"annotations": map[string]any{"a": heldCRD}}}, 0, 0},
		"an encrypted text":        {map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": "ENC[x]", "b": "no ENC[x]"}}, 0, 1},
		"an encrypted password":    {map[string]any{"kind": "Secret", "type": "Opaque", "data": map[string]any{"a": "ENC[x]"}}, 0, 0},
		"an encrypted key":         {map[string]any{"kind": "Secret", "type": "kubernetes.io/tls", "data": map[string]any{"a": "ENC[x]"}}, 0, 0},
		"an encrypted manifest":    {map[string]any{"kind": "Secret", "type": "addons.cluster.x-k8s.io/resource-set", "data": map[string]any{"a": "ENC[x]"}}, 0, 1},
		"a CRD itself":             {crd, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			crds, unread := delivery.Wrap(c.content).Inside()
			g := NewWithT(t)
			g.Expect(crds).To(HaveLen(c.crds))
			g.Expect(unread).To(HaveLen(c.unread))
			for _, found := range crds {
				g.Expect(found.DeepCopy().Object).To(Equal(found.Object), "numbers are those of an object")
			}
		})
	}
}
