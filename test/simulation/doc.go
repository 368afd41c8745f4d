// Package simulation plays what no two-core machine can show: a cluster with several API servers that hear of a CRD's
// change at different times, requests that are decided at one moment and committed much later, controllers that are
// killed and started again, and the real migration reconciler in the midst of it.
//
// What is a model: etcd (etcd.go, crd.go), the API servers (server.go) and the way to them (wire.go, watch.go). What is
// not: everything of ours, from migration.SetupWithManager down to the bytes of each request, as well as
// controller-runtime and client-go below it. A process (process.go) is the reconciler with a http.RoundTripper that ends
// in the model.
//
// A Schedule (schedule.go) says all that happens and when. Play (play.go) plays it in a synctest bubble, where an hour
// passes in milliseconds and always in the same order, and holds what Moult claims against what etcd holds, at every
// single write (claims.go). rapid draws the schedules and shrinks those that refute a claim to a story that a person can
// read. docs/correctness.md tells what is claimed, and why it is true.
package simulation
