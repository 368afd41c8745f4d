// Package deprecation judges the releases of an operator by Kubernetes' deprecation policy, as far as CRDs can show
// whether it was kept. It finds versions that were stored before any client could read them, and versions that left too
// soon or unannounced. It also finds fields that changed within a version, and releases from which there is no way
// back.
//
// Judge takes the releases in their order and a Policy, and returns a Report. The rules are in rule.go; that list is
// the specification, and each has its function in the file of its concern. policies/crddiff finds what differs between
// two releases, and policies/crddiff/refusal what an API server would refuse.
//
// It is pure; `moult check versions` reads the releases of a repository and prints the report.
// https://kubernetes.io/docs/reference/using-api/deprecation-policy/
package deprecation
