// Package rewrite walks over all objects of one custom resource and makes the
// API server store each of them at the storage version.
//
// A Walk lists metadata page by page and sends every object the cheapest write that cannot change it: an empty merge
// patch. The API server decodes the object, encodes it at the storage version and writes it only if the bytes differ
// from what etcd holds. So a resourceVersion that moved means rewritten, and one that did not means already current.
// Every object ends with exactly one Outcome; one that cannot be rewritten is counted and named and never stops the
// others. What stops a walk as a whole is a *Stopped.
package rewrite
