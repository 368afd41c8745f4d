// Command generate writes the actions' entry for argocd-cm, which is one YAML document that holds all their scripts. Run
// it by `go generate ./lua` after changing a script under actions; a test fails until that has been done.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"

	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/lua"
)

const (
	actions = "moult.dev/VersionRemoval/actions"
	target  = actions + "/argocd-cm.yaml"
)

func main() {
	content, err := compose(lua.FS)
	if err == nil {
		err = os.WriteFile(target, content, 0o644)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s is not written: %v\n", target, err)
		os.Exit(1)
	}
}

// entry is what Argo CD reads under resource.customizations.actions.<group>_<Kind>.
type entry struct {
	Discovery   string       `json:"discovery.lua"`
	Definitions []definition `json:"definitions"`
}

type definition struct {
	Name   string `json:"name"`
	Action string `json:"action.lua"`
}

func compose(scripts fs.FS) ([]byte, error) {
	discovery, err := fs.ReadFile(scripts, actions+"/discovery.lua")
	if err != nil {
		return nil, err
	}
	found, err := fs.Glob(scripts, actions+"/*/action.lua")
	if err != nil {
		return nil, err
	}
	all := entry{Discovery: string(discovery)}
	for _, file := range found {
		action, err := fs.ReadFile(scripts, file)
		if err != nil {
			return nil, err
		}
		all.Definitions = append(all.Definitions, definition{Name: path.Base(path.Dir(file)), Action: string(action)})
	}
	content, err := yaml.Marshal(all)
	return append([]byte("# Written by `go generate ./lua` from the scripts beside this file.\n"), content...), err
}
