// Command kanonbench compares Kanon with an operator written by hand in Go, and
// with a bare client loop, on a real API server. All three do the same work (see
// internal/app), each as a process of its own on a control plane of its own, phase by
// phase in turns, for some rounds:
//
//	operator  internal/operator: controller-runtime, as a good author would
//	loop      internal/loop: applies without a cache, the least that can do it
//	kanon     kanon run, with a rule
//
// What is timed is what can be seen on the API server; requests are counted by the
// API server (see internal/plane), CPU time and memory are the kernel's. Nothing
// is asked of the engines.
//
// # Example
//
//	$ make bin/kanon bin/controlplane bin/kanonbench
//	$ bin/kanonbench run --load plain=1000 --rounds 5 --out bench.txt
//	$ bin/kanonbench page bench.txt --out docs/performance.md
//	$ go tool -modfile=tools/go.mod benchstat -col /engine bench.txt
//
// It is a module of its own so that controller-runtime, which it compares with, is
// not among Kanon's dependencies.
package main
