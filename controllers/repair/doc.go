// Package repair moves what outlives a version, in clusters where the controller runs, for CRDs that are opted in and
// carry an annotation for the kind. These are owner references to their objects (moult.dev/repair-owners), and stashed
// copies of their objects (moult.dev/migrate-stashes), wherever they are, before versions go and after. `moult repair
// owners` and `moult survivors migrate` do the same once, from a shell, by the same code (controllers/rewrite/owners,
// controllers/rewrite/embeddedcopies).
//
// Reconcile is the main path: collect → observe → decide → act. Each kind has a Reconciler of its own, for which all CRDs are one item
// of work: what is due is looked for together, and never twice at once. What is found is in Events and in metrics.
package repair
