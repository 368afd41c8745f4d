package judges

// What Argo CD's test harness imports beyond what our tests do: named here for `go mod tidy` to keep it in go.mod and
// go.sum, where TestUpstreamsOwnHarnessAcceptsTheFolder takes it from.
import (
	_ "github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	_ "github.com/argoproj/argo-cd/v3/util/cli"
	_ "github.com/stretchr/testify/assert"
	_ "github.com/stretchr/testify/require"
)
