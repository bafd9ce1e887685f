// Package process runs the processes that are measured, each bound to the life of
// the benchmark, and reads from /proc what they use.
//
//	p, err := process.Start(process.Options{Stderr: log}, "bin/kanon", "run")
//	before, err := process.Read(p.PID())
//	...
//	err = p.Stop()
package process
