// Package reporting collects findings while a rule is compiled, each at the position of a field, of a part of a scalar,
// or of an offset in an expression. It knows how much of an expression a finding underlines, and where a mistake was
// reported already, so that its consequences are not reported too.
//
//	r := reporting.New(rule.Source)
//	r.ReportNode(n, diagnostic.CodeGenerateName, "…").WithHint("…")
//	findings := r.Findings()
//
// Package diagnostic has the findings themselves.
package reporting
