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
// is compiled, for each platform. If something called one of them after all, the release would not compile. The last one is of another
// kind: client-go registers every version of its APIs, and Moult has typed objects of none that is alpha or beta.
type cut struct {
	module, file string
	without      []string // functions, and paths of imports with what lists name of them; without any, the whole file
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
	{"k8s.io/client-go", "kubernetes/scheme/register.go", []string{
		"k8s.io/api/admissionregistration/v1alpha1", "k8s.io/api/admissionregistration/v1beta1", "k8s.io/api/apiserverinternal/v1alpha1",
		"k8s.io/api/apps/v1beta1", "k8s.io/api/apps/v1beta2", "k8s.io/api/authentication/v1alpha1", "k8s.io/api/authentication/v1beta1",
		"k8s.io/api/authorization/v1beta1", "k8s.io/api/batch/v1beta1", "k8s.io/api/certificates/v1alpha1", "k8s.io/api/certificates/v1beta1",
		"k8s.io/api/coordination/v1alpha2", "k8s.io/api/discovery/v1beta1", "k8s.io/api/extensions/v1beta1", "k8s.io/api/flowcontrol/v1beta1",
		"k8s.io/api/flowcontrol/v1beta2", "k8s.io/api/flowcontrol/v1beta3", "k8s.io/api/lifecycle/v1alpha1", "k8s.io/api/networking/v1beta1",
		"k8s.io/api/node/v1alpha1", "k8s.io/api/node/v1beta1", "k8s.io/api/rbac/v1alpha1", "k8s.io/api/rbac/v1beta1", "k8s.io/api/resource/v1alpha3",
		"k8s.io/api/resource/v1beta1", "k8s.io/api/resource/v1beta2", "k8s.io/api/scheduling/v1beta1", "k8s.io/api/storage/v1alpha1",
		"k8s.io/api/storage/v1beta1", "k8s.io/api/storagemigration/v1beta1",
	}, "Moult reads what is not v1 without types"},
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
	found := map[string][]ast.Node{}
	for _, spec := range parsed.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		found[path] = append([]ast.Node{spec}, listed(parsed, spec.Name)...)
	}
	for _, declaration := range parsed.Decls {
		if function, is := declaration.(*ast.FuncDecl); is && function.Recv == nil {
			found[function.Name.Name] = []ast.Node{function}
		}
	}
	for _, name := range c.without {
		if found[name] == nil {
			return nil, fmt.Errorf("%s of %s has no %s any more; adapt test/tools/release/cuts.go to this version", c.file, c.module, name)
		}
		for _, node := range found[name] {
			from, to := positions.Position(node.Pos()).Offset, positions.Position(node.End()).Offset
			if _, is := node.(*ast.SelectorExpr); is && text[to] == ',' {
				to++
			}
			for at := from; at < to; at++ {
				if text[at] != '\n' {
					text[at] = ' '
				}
			}
		}
	}
	return text, nil
}

// listed is what lists such as []func(){package.Function} have of an import that has a name of its own there.
func listed(file *ast.File, imported *ast.Ident) (elements []ast.Node) {
	ast.Inspect(file, func(node ast.Node) bool {
		list, is := node.(*ast.CompositeLit)
		if !is || imported == nil {
			return true
		}
		for _, element := range list.Elts {
			if selected, is := element.(*ast.SelectorExpr); is {
				if of, is := selected.X.(*ast.Ident); is && of.Name == imported.Name {
					elements = append(elements, selected)
				}
			}
		}
		return true
	})
	return elements
}
