// Package deprecation judges the releases of an operator by Kubernetes' deprecation policy, as far as CRDs can show whether it
// was kept: versions that were stored before anybody could read them, that left too soon or unannounced, fields that
// changed within a version, and releases from which there is no way back.
//
// Judge takes the releases in their order and a Policy, and returns a Report. The rules are in rule.go; that list is the
// specification, and each has its function in the file of its concern. What differs between two releases is told by
// policies/crddiff, and what an API server would refuse by policies/crddiff/refusal.
//
// It is pure; `moult check versions` reads the releases of a repository and prints the report.
// https://kubernetes.io/docs/reference/using-api/deprecation-policy/
package deprecation
