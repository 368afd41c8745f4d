package helm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/commands"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/words"
)

// Settled is what a chart makes whatever the open values of a release are, with other objects that bring nothing. The error names a template
// that may bring something, and may depend on an open value. Such a value counts as a word: it is taken for no manifest.
func (r Renderer) Settled(ctx context.Context, chart *charts.Chart, release charts.Release, o *Opening) (*charts.Rendering, error) {
	for _, values := range chart.AllValues(release.Values) {
		if text, err := yaml.Marshal(values); err != nil || mayBring(text) {
			return nil, errors.Join(err, errors.New("there are manifests or commands among its values"))
		}
	}
	if missing := chart.Missing(); len(missing) > 0 {
		return nil, &charts.MissingError{Dependency: missing[0]}
	}
	if o.err != nil {
		return nil, o.err
	}
	dependents, err := chart.Dependents(ctx, release, o.open)
	if err != nil {
		return nil, err
	}
	isTaken := func(d charts.Dependent) bool {
		return slices.ContainsFunc(r.Taken, func(name string) bool {
			return kept.MatchString(d.Text) && regexp.MustCompile(`name["']?\s*:\s*["']?`+regexp.QuoteMeta(name)+`["'\s,}]`).MatchString(d.Text)
		})
	}
	for _, d := range dependents {
		if !isPlain(d) || isTaken(d) || filesBring(chart, d) {
			return nil, fmt.Errorf("%s may depend on it", d.File)
		}
	}
	rendering, _, err := r.Render(ctx, chart, release)
	return rendering, err
}

// mayBring reports whether a text may hold CRDs, or something that brings some.
func mayBring(text []byte) bool {
	return bytes.Contains(text, []byte("CustomResourceDefinition")) || detect.CRD.Match(text) || detect.EncodedCRD.Match(text) || brings.Match(text) ||
		commands.In("object.yaml", text).About != ""
}

// brings finds an object that has more applied than it holds, a program that may do that, and a text of several documents.
var brings = regexp.MustCompile(`(?m)apiVersion\W{1,9}(?:argoproj\.io|[a-z.]+\.fluxcd\.io|` + strings.Join(words.Of(installers, regexp.QuoteMeta), "|") + `)/` +
	`|(?:^|[^/\w.-])(?:kubectl|oc|clusterctl|kustomize|helmfile)\b|\bkubectl\W{1,9}(?:apply|create|replace|patch)\b|argocd\.argoproj\.io/secret-type|/customresourcedefinitions` +
	`|\b(?:helm|istioctl|cilium|linkerd|kapp|argocd|flux|velero|operator-sdk)\b\W{1,9}(?:-\S+\W+\S+\W+)?(?:install|upgrade|template|pull|bootstrap|deploy|app)\b|^\s*---\s*$`)

// installers are the groups of all objects whose controllers install something. Of webhooks and policies, each operator has some.
var installers = slices.DeleteFunc(kinds.InstallerGroups(), func(group string) bool { return group == "admissionregistration.k8s.io" })

// filesBring reports whether a file that becomes part of what a template makes may bring something.
func filesBring(chart *charts.Chart, d charts.Dependent) bool {
	return d.HasFiles && slices.ContainsFunc(chart.FilesOf(d), mayBring)
}

// isPlain reports whether a template makes objects that bring no others, whatever its values are.
func isPlain(d charts.Dependent) bool {
	text := []byte(separator.ReplaceAllString(detect.WithoutComments(d.Text), ""))
	if d.MayBeAny || mayBring(text) || !kind.Match(text) {
		return false
	}
	return !slices.ContainsFunc(kind.FindAllSubmatch(text, -1), func(found [][]byte) bool { return !isPlainKind(string(found[1])) })
}

var (
	// separator stands between documents.
	separator = regexp.MustCompile(`(?m)^---\s*$`)
	// kind finds the kind of an object, or of one that it refers to.
	kind = regexp.MustCompile(`\bkind["']?\s*:[ \t]*([^\n,]*)`)
	// kept finds what holds texts and values.
	kept = regexp.MustCompile(`\b(?:ConfigMap|Secret)\b`)
	// action is what a template does, and branching one that only decides which of several texts there is.
	action    = regexp.MustCompile(`\{\{.*?\}\}`)
	branching = regexp.MustCompile(`^\{\{-?\s*(?:if|else|end)\b`)
)

// isPlainKind reports whether all kinds that a template may write are plain ones.
func isPlainKind(written string) bool {
	names := strings.FieldsFunc(action.ReplaceAllString(written, " "), func(r rune) bool { return strings.ContainsRune(" \t\r\"'}", r) })
	isOther := func(name string) bool { return !slices.Contains(plainKinds, name) }
	gives := func(action string) bool { return !branching.MatchString(action) }
	return len(names) > 0 && !slices.ContainsFunc(names, isOther) && !slices.ContainsFunc(action.FindAllString(written, -1), gives)
}

// plainKinds are those that hold nothing to be applied, and whose controllers install nothing.
var plainKinds = []string{
	"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Pod", "Service", "Ingress", "IngressClass", "NetworkPolicy",
	"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "User", "Group", "ConfigMap", "ConfigMapList", "Secret", "PersistentVolumeClaim",
	"PersistentVolume", "StorageClass", "HorizontalPodAutoscaler", "VerticalPodAutoscaler", "PodDisruptionBudget", "PriorityClass",
	"PodSecurityPolicy", "Endpoints", "EndpointSlice", "Namespace", "APIService", "Issuer", "ClusterIssuer", "Certificate", "ServiceMonitor", "PodMonitor",
	"PrometheusRule", "Gateway", "HTTPRoute", "GRPCRoute", "TCPRoute", "IngressRoute", "Middleware", "VirtualService", "DestinationRule", "ExternalSecret",
	"SecretStore", "ClusterSecretStore", "ValidatingWebhookConfiguration", "BackendTLSPolicy", "ScaledObject",
}
