// Package collector plays a removal beside the real garbage collector, that of kube-controller-manager: what it does to owner
// references at the version that has gone, how `moult repair owners` fixes that, and that nothing is lost where the controller
// moves them first. `make test-full PARTS=collector` builds kube-controller-manager; it is no part of `make test`.
package collector
