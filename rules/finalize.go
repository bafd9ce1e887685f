package rules

import (
	"slices"
	"strings"
	"time"

	"kanon.dev/kanon/rules/flow"
)

// compiledFinalize is spec.finalize.
type compiledFinalize struct {
	// until is nil where the children of finalize decide by being ready.
	until   *expression
	timeout *compiledDuration
	// reads are the children and lookups that until reads, in the order in which it does.
	reads []flow.Ref
}

// Finalization says how far a rule has come with a parent that is being deleted.
type Finalization struct {
	// Done is true where nothing is left to do but to end the children.
	Done bool
	// Waits says why it is not done; Failed is true where that will not change before the
	// rule or what it reads does.
	Waits  string
	Failed bool
	// Timeout is how long it may take; zero: for ever.
	Timeout time.Duration
}

// Finalizes says whether the rule has a say in how its parents go.
func (p *Program) Finalizes() bool { return p.finalize != nil }

// Rank says how many nodes must be there, one after the other, before the one with
// that id; -1 where the rule has no such node.
func (p *Program) Rank(node string) int {
	i, ok := p.byID[node]
	if !ok {
		return -1
	}
	return p.children[i].rank
}

// rankChildren counts the nodes that each one follows on.
func (p *Program) rankChildren() {
	for _, i := range p.order {
		child := p.children[i]
		for _, needs := range [][]int{child.needs, child.waitsFor} {
			for _, j := range needs {
				child.rank = max(child.rank, p.children[j].rank+1)
			}
		}
	}
}

// renderFinalization fills in how far the rule has come with a parent that is being
// deleted.
func (e *Evaluation) renderFinalization(out *Outcome) {
	if !e.finalizing || e.prog.finalize == nil {
		return
	}
	f := &out.Finalization
	f.Timeout = e.duration(e.prog.finalize.timeout, out)
	if node, waits := e.waitsForCleanup(out); waits {
		f.Waits = "child " + node.ID + ": " + node.Text()
		return
	}
	if until := e.prog.finalize.until; until != nil {
		holds, p := until.isTrue(&e.base)
		switch {
		case p != nil:
			f.Waits, f.Failed = "until: "+p.text(), p.verdict == fails
		case !holds:
			f.Waits = "until is false: " + shorten(until.text) + e.untilWaitsFor(out)
		}
		f.Done = holds && p == nil
		return
	}
	for i, child := range e.prog.children {
		if child.Cleanup && len(e.nodes[i].uncreated) > 0 {
			// What has not begun is not done; to a when that is false there is nothing to do.
			f.Waits = "waits for child " + child.ID + " to be created: createWhen is false"
			return
		}
		if node := out.Nodes[i]; child.Cleanup && !node.Ready {
			f.Waits = "waits for child " + node.ID + " to be ready"
			if node.Message != "" {
				f.Waits += ": " + node.Text()
			}
			f.Failed = e.hasFailed(i)
			return
		}
	}
	f.Done = true
}

// untilWaitsFor says what until reads: a child that is not ready, where there is one, or else
// all of it.
func (e *Evaluation) untilWaitsFor(out *Outcome) string {
	var names []string
	for _, r := range e.prog.finalize.reads {
		i, isChild := e.prog.byID[r.ID]
		if isChild && r.Root == flow.RootChildren && !out.Nodes[i].Ready {
			return "; child " + r.ID + " is not ready: " + out.Nodes[i].Text()
		}
		if name := r.Name(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; it waits for " + strings.Join(names, ", ")
}
