package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// owner is the file that whoever owns the repository fills in.
const owner = "test/tools/release/owner.env"

// setting is a line NAME=value of the owner's file.
func (b *build) setting(name string) (string, error) {
	content, err := os.ReadFile(filepath.Join(b.root, owner))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+"="); found && value != "" {
			return value, nil
		}
	}
	return "", fmt.Errorf("%s has no line %s=…", owner, name)
}

// applied are the manifests of a release: their files, and the kustomization that each is built from. %s is the way to the
// repository's folder clusters.
var applied = map[string]string{
	"install.yaml":            "resources: [%[1]s/base]\n",
	"install-references.yaml": "resources: [%[1]s/base]\ncomponents: [%[1]s/components/references]\n",
	"monitoring.yaml":         "components: [%[1]s/components/monitoring]\n",
	"in-tree-migrator.yaml":   "components: [%[1]s/components/in-tree-migrator]\n",
	"argocd-health.yaml":      "namespace: argocd\nresources: [argocd-cm.yaml]\ncomponents: [%[1]s/components/argocd-health]\n",
}

// manifests writes what `kubectl apply --server-side -f` takes, with the image by its digest.
func (b *build) manifests(ctx context.Context, work string) error {
	image, err := b.setting("IMAGE")
	if err != nil {
		return err
	}
	root, err := filepath.Abs(b.root)
	if err != nil {
		return err
	}
	folder := filepath.Join(work, "manifests")
	clusters, err := filepath.Rel(folder, filepath.Join(root, "clusters"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\n"
	if err := os.WriteFile(filepath.Join(folder, "argocd-cm.yaml"), []byte(configMap), 0o600); err != nil {
		return err
	}
	for name, text := range applied {
		text = "images: [{name: moult-controller, newName: " + image + ", digest: '" + b.digest + "'}]\n" + fmt.Sprintf(text, filepath.ToSlash(clusters))
		if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
			return err
		}
		built, err := b.output(ctx, nil, b.kustomize, "build", folder)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := b.put(name, "# Moult "+b.release.version+"\n"+built+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// schemas writes the JSON schema of each version of our kinds, named as kubeconform and editors look for them.
func (b *build) schemas(context.Context, string) error {
	paths, err := filepath.Glob(filepath.Join(b.root, "clusters/base/crds/moult.dev_*.yaml"))
	if err != nil {
		return err
	}
	files := map[string]file{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var crd struct {
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct {
						OpenAPIV3Schema map[string]any `yaml:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := yaml.Unmarshal(content, &crd); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, v := range crd.Spec.Versions {
			schema, err := json.MarshalIndent(v.Schema.OpenAPIV3Schema, "", "  ")
			if err != nil {
				return err
			}
			files[fmt.Sprintf("%s/%s_%s.json", crd.Spec.Group, strings.ToLower(crd.Spec.Names.Kind), v.Name)] = file{append(schema, '\n'), 0o644}
		}
	}
	return b.tarball("crd-schemas.tar.gz", files)
}

// chartVersion and appVersion are the lines of Chart.yaml that a release sets.
var (
	chartVersion = regexp.MustCompile(`(?m)^version: .*$`)
	appVersion   = regexp.MustCompile(`(?m)^appVersion: .*$`)
)

// chart packages the Helm chart, with the release's version, and the image by its digest.
func (b *build) chart(context.Context, string) error {
	image, err := b.setting("IMAGE")
	if err != nil {
		return err
	}
	inside, err := filesOf(filepath.Join(b.root, "clusters/chart"))
	if err != nil {
		return err
	}
	files := map[string]file{}
	for name, f := range inside {
		switch {
		case strings.HasSuffix(name, ".go"): // what .helmignore names
			continue
		case name == "Chart.yaml":
			f.content = chartVersion.ReplaceAll(f.content, []byte("version: "+b.number()))
			f.content = appVersion.ReplaceAll(f.content, []byte("appVersion: "+b.release.version))
		case name == "values.yaml":
			if f.content, err = withImage(f.content, image, b.digest); err != nil {
				return err
			}
		}
		files["moult/"+name] = f
	}
	return b.tarball("moult-"+b.number()+".tgz", files)
}

// withImage sets the lines repository and digest below the line image of a chart's values.
func withImage(values []byte, image, digest string) ([]byte, error) {
	text := string(values)
	for key, value := range map[string]string{"repository": image, "digest": digest} {
		line := regexp.MustCompile(`(?m)^(image:\n(?:[ #].*\n|\n)*?  ` + key + `:).*$`)
		if !line.MatchString(text) {
			return nil, fmt.Errorf("clusters/chart/values.yaml has no image.%s", key)
		}
		text = line.ReplaceAllString(text, "${1} "+value)
	}
	return []byte(text), nil
}

// put writes one text file of the release.
func (b *build) put(name, text string) error {
	return os.WriteFile(filepath.Join(b.out, name), []byte(text), 0o644) //nolint:gosec // to be published
}
