// Package process runs the measured processes, which are killed if the benchmark ends, and reads their resource usage
// from /proc.
//
//	p, err := process.Start(process.Options{Stderr: log}, "bin/kanon", "run")
//	before, err := process.Read(p.PID())
//	...
//	err = p.Stop()
package process
