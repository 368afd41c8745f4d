package render

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/moult-dev/moult/clusters/network"
)

// OnlyHere says why a build may well succeed where its tool runs, and fails here; empty if it fails there, too. A remote base
// takes a network and maybe credentials; of what Argo CD and Flux can be told to run, charts and plug-ins, nothing runs here.
// https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/helmcharts/
func OnlyHere(err error) string {
	if refused, is := errors.AsType[*network.RefusedError](err); is {
		return refused.Error()
	}
	if chart, is := errors.AsType[*NotInflatedError](err); is {
		return chart.Error()
	}
	if pointer, is := errors.AsType[*PointerError](err); is {
		return fmt.Sprintf("%s is %s; %s", filepath.Base(pointer.file), pointer.How, pointer.Fix)
	}
	var git *exec.ExitError
	var noGit *exec.Error
	text := err.Error()
	switch fetched := fetching.FindStringSubmatch(text); {
	case fetched != nil && !strings.Contains(text, "couldn't find remote ref"): // then the repository has answered
		return fmt.Sprintf("its remote base %s (%s) could not be fetched", fetched[1], fetched[2])
	case fetched == nil && (errors.As(err, &git) || errors.As(err, &noGit)):
		return "a remote base of it could not be fetched"
	case strings.Contains(text, "must specify --enable-helm"):
		return "it takes Helm to build it"
	case types.IsErrOnlyBuiltinPluginsAllowed(err):
		return "it takes a plug-in to build it"
	}
	return ""
}

// fetching is what Kustomize runs for a remote base, as its errors have it, those about timeouts among them.
var fetching = regexp.MustCompile(`git fetch --depth=1 (\S+) ([^\s']+)`)
