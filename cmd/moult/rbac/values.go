package rbac

import (
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// The values of -o.
const (
	asManifests = "manifests"
	asValues    = "values"
)

// checkOutput refuses what the chart has other values for, or none.
func (r *command) checkOutput() error {
	switch {
	case r.output == asManifests:
		return nil
	case r.owners || r.stashes || r.references:
		return errors.New("-o values is for the objects of CRDs that are opted in; for the others, set repairOwners, migrateStashes or references of the chart to true")
	case r.name != "" || r.aggregateTo != aggregateDefault:
		return errors.New("-o values has no names; leave out --name and --aggregate-to, and set namePrefix of the chart")
	}
	return nil
}

// granted is an item of migrate.resources in the values of clusters/chart.
type granted struct {
	Group     string   `json:"group"`
	Resources []string `json:"resources"`
}

// printValues prints the rights of a role. The chart knows the verbs: a status is patched, and anything else is walked.
func (r *command) printValues(role *rbacv1.ClusterRole) error {
	var all []granted
	for _, rule := range role.Rules {
		if last := len(all) - 1; last >= 0 && all[last].Group == rule.APIGroups[0] {
			all[last].Resources = append(all[last].Resources, rule.Resources...)
			continue
		}
		all = append(all, granted{Group: rule.APIGroups[0], Resources: rule.Resources})
	}
	raw, err := yaml.Marshal(map[string]any{"migrate": map[string]any{"resources": all}})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.Out, "# What moult-controller may rewrite. Printed by `moult rbac -o values`: do so again when a CRD comes or goes.\n%s", raw)
	return err
}
