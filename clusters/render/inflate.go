package render

import (
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
)

// inflatedBy is how manifests of a chart are called that a kustomization takes in. No file has that name.
const inflatedBy = ".moult-helm-chart-"

// inflate replaces the charts of a kustomization by manifests: Kustomize would run helm for them.
// https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/helmcharts/
func (o *overlay) inflate(file string, content []byte) ([]byte, error) {
	var k types.Kustomization
	if err := k.Unmarshal(content); err != nil {
		return content, nil //nolint:nilerr // it is for the build to say
	}
	k.FixKustomization() // older fields become newer ones
	if len(k.HelmCharts) == 0 {
		return content, nil
	}
	home := types.HelmDefaultHome
	if k.HelmGlobals != nil && k.HelmGlobals.ChartHome != "" {
		home = k.HelmGlobals.ChartHome
	}
	dir := filepath.Dir(file)
	for i, chart := range k.HelmCharts {
		manifests, err := o.inflater(dir, home, chart)
		if err != nil && o.omitted.charts {
			o.lack("the chart " + chart.Name)
			continue
		}
		if err != nil {
			o.remotes.refused = &NotInflatedError{fmt.Errorf("its chart %s: %w", chart.Name, err)}
			return nil, o.remotes.refused
		}
		name := fmt.Sprintf("%s%d.yaml", inflatedBy, i)
		o.inflated[filepath.Join(dir, name)] = manifests
		k.Resources = append(k.Resources, name)
	}
	k.HelmCharts, k.HelmGlobals = nil, nil
	return marshalled(k)
}

// NotInflatedError is for a kustomization whose chart cannot be had or rendered here.
type NotInflatedError struct{ err error }

// Error implements error.
func (e *NotInflatedError) Error() string { return e.err.Error() }

// Unwrap is what the chart lacks.
func (e *NotInflatedError) Unwrap() error { return e.err }

// isInflated distinguishes manifests of a chart from files.
func isInflated(path string) bool { return strings.HasPrefix(filepath.Base(path), inflatedBy) }
