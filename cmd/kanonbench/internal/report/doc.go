// Package report keeps what a benchmark measured and shows it: as text that
// benchstat reads, as a table of ratios, as a plot, as a page.
//
// A [Run] is samples with the circumstances under which they were taken. The
// ratio of two engines is formed round by round, because what disturbs one of a
// round mostly disturbs the other too; what is shown is the median of the rounds
// and their extremes.
//
//	run, err := report.Read(file)
//	err = report.WriteTable(os.Stdout, run)
package report
