package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/policies/words"
)

var errNotAgreed = errors.New("not agreed; nothing is written")

// ConfigToWrite is Config for a command that writes, unless this is a dry run. Where the kubeconfig has several
// contexts and none is named, a person is asked, and a script has to name one. What a kubeconfig's current context is
// changes behind its back.
func (f *Factory) ConfigToWrite(dryRun bool) (*rest.Config, error) {
	contexts := f.Contexts()
	if dryRun || f.ContextName != "" || len(contexts) < 2 {
		return f.Config()
	}
	kubeconfig, err := f.loadingRules().Load()
	if err != nil {
		return nil, err
	}
	current := kubeconfig.CurrentContext
	if current == "" || f.In == nil {
		return nil, fmt.Errorf("the kubeconfig has %s, %s; name the one to write to with --context",
			words.Count(len(contexts), "context"), words.Few(contexts, 10))
	}
	f.ContextName = current
	cfg, err := f.Config()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(f.ErrOut, "write to the cluster of context %s, at %s? [y/N] ", current, cfg.Host)
	answer, err := bufio.NewReader(f.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return cfg, nil
	}
	if err != nil {
		fmt.Fprintln(f.ErrOut)
	}
	return nil, errNotAgreed
}
