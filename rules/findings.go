package rules

import "kanon.dev/kanon/rules/diagnostic"

// What Decode and Compile find, as package diagnostic has it.
type (
	Finding  = diagnostic.Finding
	Findings = diagnostic.Findings
	Position = diagnostic.Position
	Severity = diagnostic.Severity
)

// The severities of findings.
const (
	SeverityError   = diagnostic.SeverityError
	SeverityWarning = diagnostic.SeverityWarning
)
