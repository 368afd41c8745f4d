package scan

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/moult-dev/moult/clusters/desired/deciding"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/words"
)

// MayBeApplied are those of some files that entry points which cannot be built may lead to, as nothing else does. Each of them is unseen.
// There are none if all entry points can be built.
func MayBeApplied(tree *repository.Tree, paths, failed []string) (unseen []delivery.Unseen) {
	if len(failed) == 0 {
		return nil
	}
	t := files.Of(tree)
	for _, file := range paths {
		content, err := render.ReadRegular(file)
		if err == nil && (files.MayWire(file, content) || detect.IsManifest(filepath.Base(file)) && mayInstall(file, content)) {
			unseen = append(unseen, t.Unseen(file, deciding.InFile(file, content), fmt.Sprintf("it may be applied by what cannot be built: %s", words.Few(failed, mostFailed))))
		}
	}
	return unseen
}

// mayInstall reports whether a file holds what installs something, or may do so as a template.
func mayInstall(file string, content []byte) bool {
	read, err := render.Stream(file, bytes.NewReader(content))
	if err != nil {
		return detect.Installer.Match(content) || detect.Subscribes(content)
	}
	return detect.Installer.Match(content) || slices.ContainsFunc(read.Objects, kinds.Installs)
}

// mostFailed is how many entry points are named.
const mostFailed = 3
