// Package refusal reports what an API server would refuse about a CustomResourceDefinition, before it is asked. It
// finds schemas that are not structural, rules in CEL that do not compile or cost too much, defaults that break their
// own schema, and names that are no names. A preview that called such a change safe would send it into a sync that
// fails.
//
// The rules are the API server's own, k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation, called as its
// registry does (pkg/registry/customresourcedefinition/strategy.go). Where the CRD was there before, they are those for
// an update. So what the API server tolerates in a CRD that exists is tolerated here. They are those of the release in
// go.mod; an older API server may take less, and a newer one more.
//
// It is pure. What depends on the cluster is judged elsewhere: status.storedVersions by the gate, names that another CRD
// has taken by the cluster alone.
package refusal
