// Package judges puts one set of fixtures, and objects nobody would think of, to everything that judges: Argo CD's own
// Lua machine with our scripts, its own test harness on our folder, the sync engine with our override, Flux' evaluator
// with our expressions, and kstatus. It is a module of its own because it needs all of Argo CD; there are only tests in
// it. Run them by `go -C test/lua test ./...`, and the fuzzers by `go -C test/lua test -fuzz FuzzHealthOfAGate .`.
package judges
