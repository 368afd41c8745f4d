// Package faults is where everything goes wrong on purpose. It holds a Proxy that stands between a controller and the
// API server and does to their requests what networks and servers do, Objects that fail without a server, and a Judge
// that watches every revision of etcd while a migration runs and tells the first lie.
//
// faults_test.go is the table of all faults: what goes wrong, how it is brought about, and what must hold meanwhile. To
// add one, write a line there and a function that injects it; what must hold after every fault is in world.completes.
//
//	go test ./test/faults                            # each fault once, 5 kills; not part of `make test`
//	make test-faults                                 # each with the gate asked before and after, and those that take minutes
//	make test-faults-nightly                         # the same with 50 kills and another seed each time
//	go test ./test/faults -run 'Fault/429' -v        # one of them
//
// Two things keep Moult from lying, and without either of them the tests fail. To see it for the settle time:
//
//	go test ./test/faults -run 'Fault/(nothing|one_of_two)' -faults.settle=1ns
//
// and for the proof: in controllers/plan/evidence.go, let After set e.Proved where it sets e.Rewritten after a rewriting
// walk, and run the same without the flag.
package faults
