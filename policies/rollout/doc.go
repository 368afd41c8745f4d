// Package rollout is how one cluster will take what a pull request changes in CRDs. Argo CD's sync waves or Flux's dependsOn give
// the order, the gates stand in it, and something may go wrong on the way.
//
// It is pure. A Cluster is what an entry point of the repository amounts to, once in the base and once in the head of the
// pull request; clusters/desired finds that out. Of puts the head in order and holds both against the list in rules.go,
// which is the specification: one line and one sentence per rule.
//
// Start with Of in of.go, then rules.go; order.go says what waits for what.
package rollout
