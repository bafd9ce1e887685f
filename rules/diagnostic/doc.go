// Package diagnostic has the findings of rules: what is wrong, at which position, and what to write instead. It does
// not know rules, YAML or CEL, so every other package of the tree can report with it.
//
// A phase collects its findings in a [List], with the position and a [Code]. The code decides the [Severity], and
// docs/reference/findings explains it. At the end, the list returns [Findings]: sorted, without duplicates, not more
// than a reader can use, and each with its line of the source:
//
//	var list diagnostic.List
//	list.Report(pos, diagnostic.CodeUnknownField, "unknown field %q in spec", "chidren").
//		WithHint("%s", diagnostic.DidYouMean("chidren", known))
//	findings := list.Findings(source)
//
// A [Printer] shows them to people, with a caret below the column:
//
//	rule.yaml:5:3: error: unknown field "chidren" in spec [KN0101]
//	    5 |   chidren:
//	      |   ^~~~~~~
//	      hint: did you mean "children"?
//
// A finding that is about a second place names it with [Finding.WithRelated], such as the first of two children with
// the same id.
//
// finding.go has the values and collects them, fix.go the edits that remove a finding, printer.go writes findings for
// people, and codes.go lists all codes.
// A new code goes at the end of its area in codes.go, with its title, and into docs/reference/findings, with its
// messages.
package diagnostic
