// Package kubectl runs the real kubectl, as built by `make e2e-tools`, on a test's cluster: what people do by hand, with
// the requests and the field managers that kubectl has for it.
//
//	k, err := kubectl.New(config, t.TempDir())
//	_, err = k.Run(ctx, "label", "crd", name, "moult.dev/migrate=true")
package kubectl

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/tools"
)

// Kubectl is kubectl with the credentials for one cluster. Its methods may be called concurrently.
type Kubectl struct {
	// Version is that of the release, as in v1.2.3.
	Version string

	binary, home string
}

// New prepares kubectl for a cluster. Its settings and its cache are in the folder, and nowhere else.
func New(config *rest.Config, folder string) (*Kubectl, error) {
	tool, err := tools.Kubectl()
	if err != nil {
		return nil, err
	}
	k := &Kubectl{Version: tool.Version, binary: tool.Binary, home: folder}
	return k, cluster.WriteKubeconfig(config, k.kubeconfig())
}

func (k *Kubectl) kubeconfig() string { return filepath.Join(k.home, "kubeconfig") }

// Run runs kubectl and returns what it prints. The error ends with what it says.
func (k *Kubectl) Run(ctx context.Context, args ...string) (string, error) {
	return k.RunWith(ctx, "", args...)
}

// RunWith is Run with a standard input, for "-f -".
func (k *Kubectl) RunWith(ctx context.Context, input string, args ...string) (string, error) {
	return k.run(exec.CommandContext(ctx, k.binary, args...), input)
}

// Line is Run for a line as it is typed into a shell, beginning with kubectl.
func (k *Kubectl) Line(ctx context.Context, line string) (string, error) {
	return k.run(exec.CommandContext(ctx, "sh", "-c", line), "")
}

func (k *Kubectl) run(command *exec.Cmd, input string) (string, error) {
	path := filepath.Dir(k.binary) + string(os.PathListSeparator) + os.Getenv("PATH")
	command.Env = append(os.Environ(), "PATH="+path, "HOME="+k.home, "KUBECONFIG="+k.kubeconfig(), "KUBERC=off")
	command.Stdin = strings.NewReader(input)
	var output, complaint bytes.Buffer
	command.Stdout, command.Stderr = &output, &complaint
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(command.Args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return output.String(), nil
}
