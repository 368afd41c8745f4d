// Package survival shows, with the real Argo CD, the real Flux and the real kubectl on a real API server, when the
// opt-in label stays on a CRD and when it goes, and holds Moult's word against it: what package labelorigin said before
// a sync is what the sync then did.
//
// The test plays one row after the other, makes the tables of docs/label-survival.md of what it has seen, and fails if
// the page says something else. With -update it writes the page anew:
//
//	make label-survival
//	go -C test/e2e test ./survival -run TestTheLabel/Argo -update    # the table of one tool
//
// A row (rows_test.go) is a way to deliver the CRD, how the label got there, and what is done then. To add one, write it
// down with what should become of the label, and let -update write the rest.
package survival
