// Package guides plays the guides of docs/guides: what a guide has its reader do is done, in order, on a real control plane
// with the controller installed, and what the guide shows has to be printed. Package test/docs says how blocks are marked.
//
// A guide begins in a folder with crds/widgets.yaml, a CRD that is stored at v1alpha1 and not opted in, and widgets.yaml, three
// objects. Both are applied, and the controller may rewrite Widgets. In comments a guide calls the programs of testdata/steps,
// which stand for commits that are merged and synced. MOULT_KUBECTL names kubectl; `make test-docs` builds it.
package guides
