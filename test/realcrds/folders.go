package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// writeFolders writes all CRDs of all pairs into the folders base and head, a file each, for whoever wants to see how long
// `moult preview` takes with as many CRDs as a large cluster has. Each pair gets a group of its own, so that one project's
// releases do not stand in each other's way.
func writeFolders(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "realcrds")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	count := 0
	for i, p := range pairs {
		u, err := p.unpack(ctx, filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			return err
		}
		for folder, side := range map[string]state{"base": u.base, "head": u.head} {
			if err := writeFolder(filepath.Join(o.folders, folder), fmt.Sprintf("pair%d.", i), side.crds); err != nil {
				return err
			}
		}
		count += len(u.head.crds)
	}
	fmt.Fprintf(o.out, "%d CRDs in %s, and what they were in %s\n", count, filepath.Join(o.folders, "head"), filepath.Join(o.folders, "base"))
	return nil
}

// writeFolder writes CRDs under groups that begin with a prefix.
func writeFolder(dir, prefix string, crds []*apiextensionsv1.CustomResourceDefinition) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	for _, crd := range crds {
		crd = crd.DeepCopy()
		crd.Spec.Group = prefix + crd.Spec.Group
		crd.Name = crd.Spec.Names.Plural + "." + crd.Spec.Group
		content, err := yaml.Marshal(crd)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, crd.Name+".yaml"), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
