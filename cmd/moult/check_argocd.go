package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/lua"
)

// argoCDConfigMap is where Argo CD is told how objects of a kind fare.
const argoCDConfigMap = "argocd-cm"

// argoCDFinding is what a check found about one key.
type argoCDFinding struct {
	Key     string `json:"key"`
	State   string `json:"state"` // installed, missing or different
	Needed  bool   `json:"needed"`
	Meaning string `json:"meaning"`
	Mend    string `json:"mend,omitempty"`
}

func (f argoCDFinding) good() bool { return f.State == stateInstalled || !f.Needed }

const (
	stateInstalled = "installed"
	stateMissing   = "missing"
	stateDifferent = "different"
)

func newCheckArgoCD(a *app) *cobra.Command {
	var namespace, file, output string
	c := &cobra.Command{
		Use:   "argocd",
		Short: "Check that Argo CD knows when a VersionRemoval is healthy",
		Long: `Argo CD counts an object of a kind it does not know as healthy as soon as it
exists: without Moult's health check, a VersionRemoval holds no sync wave back.
This looks into the ConfigMap ` + argoCDConfigMap + ` and compares what is there with the scripts
of this version of Moult.

Exit codes:
  0    the gate's health check is installed; what is optional may be missing
  1    it is not, or it is another script
  2    the question could not be answered: wrong arguments, no cluster, no such ConfigMap or file`,
		Example: a.example(`  # the cluster of the current context
  moult check argocd

  # what a commit would install, without a cluster
  kustomize build argocd | moult check argocd --file -`),
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("-o %s is not known; leave it out for text, or say json", output)
			}
			data, err := a.argoCDConfig(c.Context(), namespace, file, c.InOrStdin())
			if err != nil {
				return err
			}
			return a.tellFindings(judgeArgoCD(data), output)
		},
	}
	c.Flags().StringVarP(&namespace, "namespace", "n", "argocd", "namespace of Argo CD")
	c.Flags().StringVarP(&file, "file", "f", "", "read manifests from a file, or from - for standard input, instead of a cluster")
	c.Flags().StringVarP(&output, "output", "o", "", "json for programs")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]cobra.Completion{"json"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// argoCDConfig is the data of argocd-cm.
func (a *app) argoCDConfig(ctx context.Context, namespace, file string, stdin io.Reader) (map[string]string, error) {
	if file != "" {
		return argoCDConfigIn(file, stdin)
	}
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	found, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, argoCDConfigMap, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no ConfigMap %s in namespace %s; name Argo CD's namespace with --namespace", argoCDConfigMap, namespace)
	case isImpersonationRefused(err):
		return nil, impersonationError(err)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return nil, fmt.Errorf("%w; reading it needs get on configmaps in namespace %s, or give its manifest with --file", err, namespace)
	case err != nil:
		return nil, readError(err)
	}
	return found.Data, nil
}

// argoCDConfigIn finds argocd-cm among the manifests in a file.
func argoCDConfigIn(file string, stdin io.Reader) (map[string]string, error) {
	read := func() ([]byte, error) { return os.ReadFile(file) }
	if file == "-" {
		read = func() ([]byte, error) { return io.ReadAll(stdin) }
	}
	raw, err := read()
	if err != nil {
		return nil, fmt.Errorf("--file %s cannot be read; name a file with manifests, or - for standard input: %w", file, err)
	}
	for _, document := range strings.Split("\n"+string(raw), "\n---") {
		if found := argoCDConfigOf([]byte(document)); found != nil {
			return found.Data, nil
		}
	}
	return nil, fmt.Errorf("there is no ConfigMap %s in --file %s; give it the output of `kustomize build` for what installs Argo CD", argoCDConfigMap, file)
}

// argoCDConfigOf is argocd-cm if the document is it, or is a List that holds it.
func argoCDConfigOf(document []byte) *corev1.ConfigMap {
	list := corev1.List{}
	if yaml.Unmarshal(document, &list) == nil && list.Kind == "List" {
		for _, item := range list.Items {
			if found := argoCDConfigOf(item.Raw); found != nil {
				return found
			}
		}
		return nil
	}
	found := corev1.ConfigMap{}
	if yaml.Unmarshal(document, &found) == nil && found.Kind == "ConfigMap" && found.Name == argoCDConfigMap {
		return &found
	}
	return nil
}

// judgeArgoCD compares argocd-cm with what belongs into it.
func judgeArgoCD(data map[string]string) []argoCDFinding {
	const component = "list clusters/components/argocd-health under components of the kustomization that installs Argo CD"
	findings := []argoCDFinding{
		{Key: lua.GateHealthKey, Needed: true, Meaning: "makes a VersionRemoval a gate; without it, a VersionRemoval holds nothing back", Mend: component},
		{Key: lua.GateActionsKey, Meaning: "lets people retry, pause and resume a gate from Argo CD", Mend: component},
		{Key: lua.CRDHealthKey, Meaning: "makes opted-in CRDs gates themselves; replaces Argo CD's own check of CRDs", Mend: "list clusters/components/argocd-crd-health instead, if you want that"},
	}
	for i := range findings {
		f := &findings[i]
		want, have := lua.ArgoCDConfig()[f.Key], data[f.Key]
		switch {
		case strings.TrimSpace(have) == strings.TrimSpace(want):
			f.State, f.Mend = stateInstalled, ""
		case have == "":
			f.State = stateMissing
		default:
			f.State = stateDifferent
		}
	}
	return findings
}

func (a *app) tellFindings(findings []argoCDFinding, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(a.out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(findings); err != nil {
			return err
		}
	}
	var bad error
	for _, f := range findings {
		if output == "" {
			optional := ""
			if !f.Needed {
				optional = " (optional)"
			}
			fmt.Fprintf(a.out, "%-9s  %s%s\n           %s\n", f.State, f.Key, optional, f.Meaning)
		}
		if !f.good() {
			bad = notDone{sentence: fmt.Sprintf("%s in %s is %s: %s; %s", f.Key, argoCDConfigMap, f.State, f.Meaning, f.Mend)}
		}
	}
	return bad
}
