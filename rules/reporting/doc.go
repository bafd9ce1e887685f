// Package reporting collects findings while a rule is compiled, each at its position: of a field, of a part of a scalar, or of an
// offset in an expression. It remembers which bytes a finding in an expression underlines, and where a mistake was reported
// already, so that nothing that follows from it is reported again.
//
//	r := reporting.New(rule.Source)
//	r.ReportNode(n, diagnostic.CodeGenerateName, "…").WithHint("…")
//	findings := r.Findings()
//
// What a finding is, and how it is printed, is package diagnostic's.
package reporting
