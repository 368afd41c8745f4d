package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// cut is what a release is built without: functions that Moult never calls, of modules that it needs, and what only they import.
// Together they bring the clients, informers and apply configurations of every API of Kubernetes, and grpc: a quarter of all that
// is compiled, for each platform. If something called one of them after all, the release would not compile.
type cut struct {
	module, file string
	without      []string // functions and paths of imports; without any, the whole file
	why          string
}

var cuts = []cut{
	{"helm.sh/helm/v4", "internal/version/clientgo.go",
		[]string{"k8s.io/client-go/kubernetes"}, "it is only imported to have the module in the build, where it is anyway"},
	{"k8s.io/client-go", "tools/events/event_broadcaster.go",
		[]string{"NewEventBroadcasterAdapter", "NewEventBroadcasterAdapterWithContext", "k8s.io/client-go/kubernetes"}, "it is for servers without events.k8s.io"},
	{"k8s.io/client-go", "tools/leaderelection/leasecandidate.go",
		nil, "controller-runtime elects without candidates"},
	{"k8s.io/client-go", "tools/leaderelection/resourcelock/interface.go",
		[]string{"NewFromKubeconfig", "time", "k8s.io/client-go/kubernetes", "k8s.io/client-go/rest"}, "controller-runtime has a client for the lock"},
	{"k8s.io/apiserver", "pkg/util/webhook/authentication.go",
		[]string{"NewDefaultAuthenticationInfoResolverWrapper", "net/http", "go.opentelemetry.io/otel/trace", "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/util/net",
			"k8s.io/apiserver/pkg/server/egressselector", "k8s.io/component-base/tracing"}, "it is for an API server with proxies of its own"},
	{"k8s.io/component-base", "tracing/utils.go",
		nil, "it sends traces, over grpc"},
}

// apply returns the text of the file without what is cut, or nil. The rest stays in its lines, so that stack traces fit.
func (c cut) apply(text []byte) ([]byte, error) {
	if len(c.without) == 0 {
		return nil, nil
	}
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, c.file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := map[string]ast.Node{}
	for _, spec := range parsed.Imports {
		found[strings.Trim(spec.Path.Value, `"`)] = spec
	}
	for _, declaration := range parsed.Decls {
		if function, is := declaration.(*ast.FuncDecl); is && function.Recv == nil {
			found[function.Name.Name] = function
		}
	}
	for _, name := range c.without {
		node := found[name]
		if node == nil {
			return nil, fmt.Errorf("%s of %s has no %s any more; adapt test/tools/release/cuts.go to this version", c.file, c.module, name)
		}
		for at := positions.Position(node.Pos()).Offset; at < positions.Position(node.End()).Offset; at++ {
			if text[at] != '\n' {
				text[at] = ' '
			}
		}
	}
	return text, nil
}
