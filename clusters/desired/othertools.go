package desired

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
)

// OtherTools is what tools that are not followed install from the files of a tree: each of their files is unseen. No entry point
// leads to them, and the cluster gets what they install all the same.
func OtherTools(ctx context.Context, t *repository.Tree) (*delivery.Cluster, error) {
	e := &everywhere{follower: follower{tree: t}, cluster: &delivery.Cluster{Name: t.Name}}
	err := eachFile(t, t.Dir, isNotApplied, func(file string) error {
		if ctx.Err() != nil || !ofOtherTools.MatchString(filepath.ToSlash(file)) {
			return ctx.Err()
		}
		return e.otherTool(file)
	})
	return e.cluster, err
}

// ofOtherTools are files from which tools that are not followed install: Helmfile, Rancher's Fleet, vendir, kluctl, Skaffold,
// Terraform, the charts of Tanka, and the libraries of Jsonnet.
var ofOtherTools = regexp.MustCompile(`(?:/helmfile\.d/[^/]+|/helmfile[^/]*|/fleet|/vendir|/chartfile|/\.kluctl|/helm-chart|/skaffold)\.ya?ml(?:\.gotmpl)?$|/jsonnetfile(?:\.lock)?\.json$|\.(?:tf|tofu)(?:\.json)?$`)

// terraform are its files, in both of its notations.
var terraform = regexp.MustCompile(`\.(?:tf|tofu)(?:\.json)?$`)

// installing is what a file of Terraform holds that installs into a cluster; others are about clouds.
var installing = regexp.MustCompile(`\b(?:helm_release|kubernetes_manifest|kubectl_manifest|kustomization_resource)\b`)

func (e *everywhere) otherTool(file string) error {
	content, err := render.ReadAsIs(file)
	if terraform.MatchString(file) && !installing.Match(content) {
		return err
	}
	if err == nil && !ForReading(e.tree.Dir, file) {
		e.tree.Reads.File(file)
		e.hidden(file, []byte(plainText(string(content))+e.namedIn(file, content)), "a tool that is not followed installs what it names")
	}
	return err
}

// word is what may be the path of a file.
var word = regexp.MustCompile(`[\w./-]+`)

// namedIn stands for all files and folders of the repository that a file names, as seen from its folder or from the root.
func (e *everywhere) namedIn(file string, content []byte) string {
	p := &fingerprint{follower: &e.follower, sum: sha256.New(), files: map[string]bool{}}
	for _, name := range word.FindAllString(string(content), -1) {
		for _, dir := range []string{filepath.Dir(file), e.tree.Root} {
			at := filepath.Join(dir, filepath.FromSlash(name))
			if _, err := os.Stat(at); err == nil && inside(at, e.tree.Root) && !inside(file, at) {
				p.file(at)
			}
		}
	}
	return hex.EncodeToString(p.sum.Sum(nil))
}
