package health

import "github.com/moult-dev/moult/api/v1alpha1"

// Expressions are for a Flux Kustomization's spec.healthCheckExprs. Flux
// evaluates them in this order; the first that is true decides, and an object
// for which none is true is in progress.
type Expressions struct {
	InProgress, Failed, Current string
}

// FluxCRDExpressions make opted-in CRDs gates under Flux: the rules of CRD in
// CEL, for apiVersion apiextensions.k8s.io/v1 and kind CustomResourceDefinition.
// A VersionRemoval needs none, as Flux' own rules (kstatus) fit it.
//
// Put them into a Kustomization of their own that only looks at the CRDs: beside the CRDs they would hold up the apply
// itself. Every field is asked for before it is read. The one thing CEL cannot ask for is whether a top-level field is
// there: on an object without status the expressions fail, and Flux waits. API servers put a status on every CRD.
var FluxCRDExpressions = Expressions{
	InProgress: isDeleted + " ||\n" + conditions + `.exists(c, ` + readable + ` && (
  c.type == 'Terminating' && c.status == 'True' ||
  c.type == 'Established' && c.status != 'True' && ` + because("Installing") + `
))`,
	Failed: conditions + `.exists(c, ` + readable + ` && (
  c.type == 'NamesAccepted' && c.status == 'False' ||
  c.type == 'NonStructuralSchema' && c.status == 'True' ||
  c.type == 'Established' && c.status != 'True' && ` + because("InvalidCABundle") + `
)) ||
` + isEstablished + " &&\n" + isOptedIn + " &&\n" + conditions + `.exists(c, ` + readable + ` && ` + isCurrent + ` &&
  c.status != 'True' && (` + because(v1alpha1.ReasonStorageVersionNotServed) + ` ||
    ` + because(v1alpha1.ReasonFieldsWouldBeLost) + `)
)`,
	Current: isEstablished + " &&\n(!(" + isOptedIn + ") ||\n" + conditions + `.exists(c, ` + readable + ` && ` + isCurrent + ` &&
  c.status == 'True'
))`,
}

// Parts of the expressions. && binds stronger than ||, and ends at the first
// false: what comes before a field is read makes sure that it is there.
const (
	conditions = `(type(status) == map && has(status.conditions) && type(status.conditions) == list ? status.conditions : [])`
	readable   = `type(c) == map && has(c.type) && has(c.status)`

	isDeleted     = `type(metadata) == map && has(metadata.deletionTimestamp)`
	isEstablished = conditions + `.exists(c, ` + readable + ` && c.type == 'Established' && c.status == 'True')`
	isOptedIn     = `type(metadata) == map && has(metadata.labels) && type(metadata.labels) == map &&
  '` + v1alpha1.MigrateLabel + `' in metadata.labels && metadata.labels['` + v1alpha1.MigrateLabel + `'] == '` + v1alpha1.MigrateLabelValue + `'`

	// isCurrent is true for a StorageMigrated condition about this generation.
	isCurrent = `c.type == '` + v1alpha1.StorageMigrated + `' && has(metadata.generation) &&
  (has(c.observedGeneration) ? c.observedGeneration == metadata.generation :
    has(c.message) && type(c.message) == string && type(metadata.generation) == int &&
    c.message.startsWith('generation ' + string(metadata.generation) + ': '))`
)

func because(reason string) string { return `has(c.reason) && c.reason == '` + reason + `'` }
