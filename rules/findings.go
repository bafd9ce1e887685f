package rules

import "kanon.dev/kanon/rules/diagnostic"

// Finding is a mistake in a rule, with its position.
type Finding = diagnostic.Finding

// Findings are those of a source or of a rule, sorted by position.
type Findings = diagnostic.Findings

// Position is a place in a source.
type Position = diagnostic.Position

// Severity says whether a rule with the finding can run.
type Severity = diagnostic.Severity

// The severities of findings.
const (
	SeverityError   = diagnostic.SeverityError
	SeverityWarning = diagnostic.SeverityWarning
)
