// Package fieldownership finds the fields that a field manager owns at one version of a
// custom resource at another version of it.
//
// Where the CRD has no conversion webhook, a field has the same name at every version. Its path is another one only if
// a list has other keys there, or a list or map is atomic at one of the versions. Behind a webhook the same path may be
// another field, and the field may have another path. So an object is compared with itself: a field that has the same
// path and the same value at both versions is the same field. For any other, the object is converted with and without
// what the manager owns. What differs is what the manager owns at the other version, as long as the same holds on the
// way back. What cannot be found that way is said to be lost, and it is for the caller to decide what to do then.
//
// This is the API server's own rule. For a manager that applies at another version than before, it removes what the
// manager owned from the object at the old version and converts the rest (structured-merge-diff, merge.Updater.prune).
package fieldownership
