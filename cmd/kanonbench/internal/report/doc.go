// Package report stores the results of a benchmark and shows them: as text for benchstat, and as tables of ratios.
//
// A [Run] has samples, and the circumstances in which they were taken. The ratio of two engines is computed round by
// round, because a disturbance mostly affects both engines of a round. The tables show the median of the rounds, with
// minimum and maximum.
//
//	run, err := report.Read(file, "bench.txt")
//	fmt.Print(report.Tables(run))
package report
