package archive

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// The names of Velero (pkg/apis/velero/v1/constants.go and pkg/archive/filesystem.go), and of the format that it calls so.
const (
	resourcesDir    = "resources"
	clusterDir      = "cluster"
	namespacesDir   = "namespaces"
	preferredSuffix = "-preferredversion"
	versionFile     = "metadata/version"
	veleroFormat    = "1.1.0\n"
)

// Ours lie beside them.
const (
	sumsDir      = "moult/sha256sums"
	manifestFile = "moult/manifest.json"
)

// place is where an object lies.
type place struct {
	resource, version string // without a version, it is Velero's copy of the preferred one
	preferred         bool
	namespace, name   string
}

func (p place) file() string {
	version, scope := p.version, clusterDir
	if p.preferred {
		version += preferredSuffix
	}
	if p.namespace != "" {
		scope = path.Join(namespacesDir, p.namespace)
	}
	return path.Join(resourcesDir, p.resource, version, scope, p.name+".json")
}

// placeOf is the place with that file.
func placeOf(file string) (p place, err error) {
	bad := fmt.Errorf("%q is no name of a file in a backup", file)
	parts := strings.Split(file, "/")
	if !fs.ValidPath(file) || strings.ContainsAny(file, "\\\n\x00") || len(parts) < 4 || parts[0] != resourcesDir {
		return p, bad
	}
	p.resource, parts = parts[1], parts[2:]
	if parts[0] != clusterDir && parts[0] != namespacesDir {
		p.version, p.preferred = strings.CutSuffix(parts[0], preferredSuffix)
		parts = parts[1:]
	}
	switch {
	case len(parts) == 2 && parts[0] == clusterDir:
		p.name = parts[1]
	case len(parts) == 3 && parts[0] == namespacesDir:
		p.namespace, p.name = parts[1], parts[2]
	default:
		return p, bad
	}
	p.name = strings.TrimSuffix(p.name, ".json")
	if p.name == "" || p.file() != file {
		return p, bad
	}
	return p, nil
}
