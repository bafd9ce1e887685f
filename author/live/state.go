package live

import (
	"cmp"
	"strings"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/restmapping/definitions"
)

// State is the state of a rule.
type State string

const (
	// Running means that Kanon runs the rule as written.
	Running State = "Running"
	// Suspended means that the rule is suspended, and Kanon writes nothing for it.
	Suspended State = "Suspended"
	// PruneHeld means that the rule runs, but the prune guard blocks the deletions of its revision.
	PruneHeld State = conditions.ReasonPruneHeld
	// DefinitionHeld means that the rule does not run as written, because its definition would drop fields of existing
	// objects. The revision before may run.
	DefinitionHeld State = definitions.ReasonHeld
	// Refused means that Kanon does not run the rule as written. The last revision without mistakes may run.
	Refused State = "Refused"
	// Removing means that the text of the rule is gone, and Kanon cleans up after it.
	Removing State = "Removing"
	// InFile means that the rule is in a file, and Kanon has not reported on it in the rule's record. Kanon's log has
	// its state.
	InFile State = "InFile"
	// Unknown means that Kanon has not reported on the rule. It may not be running, or may not have processed the rule
	// yet.
	Unknown State = "Unknown"
)

// Ready is the state as a condition's status: True, False or Unknown.
func (s State) Ready() string {
	switch s {
	case Running, Suspended:
		return "True"
	case Unknown, InFile:
		return "Unknown"
	default:
		return "False"
	}
}

// PruneBlock is what the prune guard blocks. A record of an earlier version of Kanon has only the message and, if the
// rule has a text, the revision.
type PruneBlock = record.Blocked

const (
	unreported = "Kanon has not reported on it: it is not running, or has another --kanon-namespace"
	outdated   = "Kanon has not reported on it since it was suspended or resumed"
	inFile     = "it is in a file of Kanon's process, which has not reported on it in its record; the log of the process reports its state"
	removing   = "its text is gone, and its record is still there: Kanon cleans up after it when it runs"
)

// judge sets the state from Kanon's report on the origin of the rule.
func (rule *Rule) judge(report *source.Report) {
	rule.State, rule.Message = Unknown, unreported
	if report == nil {
		return
	}
	for _, of := range report.Rules {
		if of.Name != rule.Name.Name {
			continue
		}
		rule.take(of)
		if (rule.State == Running || rule.State == Suspended) && rule.Decoded.Suspend != (rule.State == Suspended) {
			rule.State, rule.Message = Unknown, outdated
		}
		return
	}
	if !report.Ready { // a document that was never readable has no known rules
		rule.State, rule.Message = Refused, report.Message
	}
}

// take sets the state from Kanon's report on the rule.
func (rule *Rule) take(of source.RuleReport) {
	rule.Reason, rule.Message = of.Reason, of.Message
	switch {
	case !of.Ready && (of.Reason == conditions.ReasonPruneHeld || strings.HasPrefix(of.Message, conditions.ReasonPruneHeld+": ")):
		rule.State, rule.Reason, rule.PruneHeld = PruneHeld, conditions.ReasonPruneHeld, rule.blocked()
	case !of.Ready && of.Reason == definitions.ReasonHeld:
		rule.State = DefinitionHeld
	case !of.Ready:
		rule.State = Refused
	case isSuspended(of.Message):
		rule.State = Suspended
	default:
		rule.State = Running
	}
}

// judgeRecord sets the state of a rule without a text from its record.
func (rule *Rule) judgeRecord() {
	held, report := rule.Record.Blocked, rule.Record.Report
	switch {
	case rule.Origin.Path == "" || rule.Record.Removal != "":
		rule.State, rule.Message = Removing, cmp.Or(rule.Record.Removal, removing)
	case report != nil && report.Ready && isSuspended(report.Message):
		rule.State, rule.Message = Suspended, report.Message
	case held != nil && held.Message != "":
		rule.State, rule.Reason, rule.Message, rule.PruneHeld = PruneHeld, conditions.ReasonPruneHeld, held.Message, held
	case report != nil && report.Reason != conditions.ReasonPruneHeld:
		rule.take(source.RuleReport{Ready: report.Ready, Reason: report.Reason, Message: report.Message})
	default:
		rule.State, rule.Message = InFile, inFile
	}
}

// blocked returns what the prune guard blocks. The record may be about another revision, or may not have it.
func (rule *Rule) blocked() *PruneBlock {
	if rule.Record != nil && rule.Record.Blocked != nil && rule.Record.Blocked.Revision == rule.Revision() {
		return rule.Record.Blocked
	}
	return &PruneBlock{Revision: rule.Revision(), Message: rule.Message}
}

// isSuspended reports whether a ready rule's message reports that it is suspended.
func isSuspended(message string) bool {
	return message == source.MessageSuspended || message == source.MessageSuspendedByRecord
}

// WritesNothing reports whether Kanon writes nothing for the rule because it is suspended: by its text or, in whatever
// state, by an annotation on the record of a rule in a file.
func (rule *Rule) WritesNothing() bool {
	return rule.State == Suspended || strings.HasSuffix(rule.Message, "\n"+source.MessageSuspendedByRecord)
}

// IsSuspendedInFile reports whether the rule is in a file that suspends it.
func (rule *Rule) IsSuspendedInFile() bool {
	return rule.IsInFile() && rule.State == Suspended && rule.Message == source.MessageSuspended
}

// Headline is the first line of the message.
func (rule *Rule) Headline() string {
	line, _, _ := strings.Cut(rule.Message, "\n")
	return line
}
