// Package faults is where everything goes wrong on purpose. It holds a Proxy that stands between a controller and the
// API server and does to their requests what networks and servers do, Objects that fail without a server, and a Judge
// that watches every revision of etcd while a migration runs and tells the first lie.
//
// faults_test.go is the table of all faults: what goes wrong, how it is brought about, and what must hold meanwhile. To
// add one, write a line there and a function that injects it; what must hold after every fault is in world.completes.
//
//	go test ./test/faults                            # the judge's own tests and 5 kills, as `make test` plays them
//	go test ./test/faults -faults.each               # each fault once
//	make test-full PARTS=faults                      # each with the gate asked before and after, and those that take minutes
//	go test ./test/faults -faults.each -run Fault/429 -v
//
//	make test-full PARTS=faults FAULTS_FLAGS="-faults.kills=50 -faults.seed=0" # with 50 kills and another seed each time
//
// Two things keep Moult from lying, and without either of them the tests fail. To see it for the settle time:
//
//	go test ./test/faults -faults.each -run 'Fault/(nothing|one_of_two)' -faults.settle=1ns
//
// and for the proof: in policies/plan/evidence.go, let After set e.Proved where it sets e.Rewritten after a rewriting
// walk, and run the same without the flag.
package faults
