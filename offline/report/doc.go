// Package report writes findings in several formats.
//
//	r := report.Report{Findings: checked.Findings, Summary: checked.Summary()}
//	err := r.Write(os.Stdout, report.SARIF)
//
// Text is for people, written by a [diagnostic.Printer]. The other formats have a file each: json.go, sarif.go for code
// scanners, and github.go for annotations on the lines of a GitHub pull request.
package report
