// Command kanonbench compares Kanon with a handwritten Go operator on a real API server. Both do the same work (see
// internal/app). Each is a process of its own with a control plane of its own, and they take turns phase by phase, for
// several rounds:
//
//	operator  internal/app: controller-runtime, as a good author would
//	kanon     kanon run, with a rule
//
// Times are measured by what is visible on the API server. The API server counts requests (see internal/plane), and the
// kernel measures CPU time and memory. Nothing is asked of the engines.
//
// # Example
//
//	$ make bin/kanon bin/controlplane bin/kanonbench
//	$ bin/kanonbench run --load plain=1000 --rounds 5 --out bench.txt
//	$ bin/kanonbench table --requests bench.txt
//	$ go tool -modfile=tools/go.mod benchstat -col /engine bench.txt
//
// It is a module of its own, so that controller-runtime is not among Kanon's dependencies.
package main
