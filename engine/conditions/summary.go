package conditions

import (
	"fmt"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/program"
)

// Summary is the state of one parent for one rule: which of Kanon's conditions is true, and why.
type Summary struct {
	// Type is Ready, Reconciling or Stalled.
	Type    string
	Reason  string
	Message string
}

// Summarize sums up what one reconcile found: its problems, what it rendered, and which objects it does not delete for
// now. Everything that stalls the parent comes first, then everything in progress, each in the order of discovery.
func Summarize(problems []Problem, rendered program.Result, kept string) Summary {
	var stalled, moving messages
	for _, problem := range problems {
		of := &moving
		if problem.Stalled {
			of = &stalled
		}
		if problem.Stalled || !problem.IsTransient() {
			of.add(problem.Reason, problem.finding())
			if problem.Subject == SubjectFinalize {
				of.cleanup = problem.Err.Error()
			}
		}
	}
	for _, failed := range rendered.StatusFailed {
		stalled.add(ReasonEvaluation, findingOf(failed.Path, program.Problem{Message: failed.Message, Advice: failed.Advice}))
	}
	for _, node := range rendered.Nodes {
		addNode(node, &stalled, &moving)
	}
	for _, patch := range rendered.Patches {
		of := findingOf("patch "+patch.ID, patch.Problem)
		switch patch.State {
		case program.StateFailed:
			stalled.add(ReasonEvaluation, of)
		case program.StateWaiting:
			moving.add(waitingReason(patch.KindMissing), of)
		}
	}
	switch {
	case len(stalled.findings) > 0:
		return Summary{Stalled, stalled.reason, stalled.join(kept)}
	case len(moving.findings) > 0:
		return Summary{Reconciling, moving.reason, moving.join(kept)}
	case kept != "":
		return Summary{Reconciling, ReasonWaiting, kept}
	default:
		return Summary{Ready, ReasonReady, "every child is up to date and ready"}
	}
}

// addNode adds what a child waits for, or why it failed.
func addNode(node program.NodeResult, stalled, moving *messages) {
	switch {
	case node.Stalled:
		stalled.addNode(ReasonRollout, node)
	case node.Failed:
		stalled.addNode(ReasonChildFailed, node)
	case node.State == program.StateFailed:
		stalled.addNode(ReasonEvaluation, node)
	case node.State == program.StateWaiting:
		moving.addNode(waitingReason(node.KindMissing), node)
	case node.State == program.StateApplied && !node.Ready:
		moving.addNode(ReasonProgressing, node)
	}
}

// waitingReason returns the reason for a node that waits.
func waitingReason(kindMissing bool) string {
	if kindMissing {
		return ReasonKindMissing
	}
	return ReasonWaiting
}

// messages are findings of the same gravity, in the order of discovery, with the reason of the first.
type messages struct {
	reason   string
	findings []finding
	// cleanup is what the cleanup of a parent that is being deleted waits for, if that is one of the texts.
	cleanup string
}

// addNode adds the message of a child, unless the cleanup waits for the child and its text contains that message.
func (m *messages) addNode(reason string, node program.NodeResult) {
	subject := "child " + node.ID
	named := strings.Contains(m.cleanup, subject+" ") || strings.Contains(m.cleanup, subject+":")
	if !named || !strings.Contains(m.cleanup, node.Text()) {
		m.add(reason, findingOf(subject, node.Problem))
	}
}

func (m *messages) add(reason string, of finding) {
	waits := m.reason == ReasonWaiting || m.reason == ReasonProgressing
	if m.reason == "" || waits && reason == ReasonKindMissing { // the others wait for the kind
		m.reason = reason
	}
	m.findings = append(m.findings, of)
}

// maxMessage bounds a condition's message, in bytes. The API conventions allow 32 KiB, but the first problems matter
// most.
const maxMessage = 4 << 10

// join returns the message of a condition. kept is about objects that are not deleted for now; it may be empty.
func (m *messages) join(kept string) string {
	var texts []string
	for _, f := range merged(m.findings) {
		texts = append(texts, f.String())
	}
	if kept != "" {
		texts = append(texts, kept)
	}
	return Cut(strings.Join(texts, "; "), maxMessage)
}

// Cut returns the beginning of a text, of at most limit bytes.
func Cut(text string, limit int) string {
	const mark = "…"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(mark)], "") + mark
}

// maxKept is how many objects that are not deleted for now a message names.
const maxKept = 3

// Kept returns the message about objects that are no longer rendered and are not deleted for now; empty if there are
// none.
func Kept(objects []string) string {
	objects = slices.Sorted(slices.Values(objects))
	switch n := len(objects); n {
	case 0:
		return ""
	case 1:
		return objects[0] + " is no longer rendered, and is not deleted until everything else is up to date"
	default:
		names := strings.Join(objects[:min(n, maxKept)], ", ")
		if n > maxKept {
			names += fmt.Sprintf(" and %d more", n-maxKept)
		}
		return fmt.Sprintf("%d objects are no longer rendered, and are not deleted until everything else is up to date: %s", n, names)
	}
}
