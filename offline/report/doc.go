// Package report writes findings in the forms that people and other programs read.
//
//	r := report.Report{Findings: checked.Findings, Summary: checked.Summary()}
//	err := r.Write(os.Stdout, report.SARIF)
//
// Text is the form for people, by a [diagnostic.Printer]. The others have a file each: json.go a list, sarif.go the format that
// code scanners read, and github.go what a GitHub workflow shows beside the lines of a pull request.
package report
