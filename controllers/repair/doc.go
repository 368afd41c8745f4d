// Package repair moves what outlives a version, in clusters where the controller runs: owner references to the objects of CRDs
// that are opted in and carry the annotation moult.dev/repair-owners, wherever they are, before versions go and after. `moult
// repair owners` does the same once, from a shell, by the same code (controllers/rewrite/owners).
//
// Reconcile is the main path: told → observe → decide → act. All CRDs are one item of work, because each look goes through all
// objects of the cluster: what is due is looked for together. What is found is told in Events on the CRD and in metrics.
package repair
