package program

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/flow"
)

func (e *Evaluation) renderDeletion(out *Result) {
	if e.prog.DeleteWhen == nil {
		return
	}
	holds, p := e.prog.DeleteWhen.IsTrue(&e.base)
	switch {
	case p != nil:
		out.note(p.Under("deleteWhen"))
		out.Deletion = DeletionUnknown
	case holds:
		out.Deletion = DeletionOn
	}
}

// renderFinalization reports how far the cleanup of a parent that is being deleted has come.
func (e *Evaluation) renderFinalization(out *Result) {
	if !e.finalizing || e.prog.Finalize == nil {
		return
	}
	f := &out.Finalization
	f.Timeout = e.duration(e.prog.Finalize.Timeout, out)
	if node, waits := e.waitsForCleanup(out); waits {
		f.Waits = "child " + node.ID + ": " + node.Text()
		return
	}
	if until := e.prog.Finalize.Until; until != nil {
		holds, p := until.IsTrue(&e.base)
		switch {
		case p != nil:
			f.Waits, f.Failed = "until: "+p.Text(), p.Verdict == Fails
		case !holds:
			f.Waits = "until is false: " + Shorten(until.Text) + e.untilWaitsFor(out)
		}
		f.Done = holds && p == nil
		return
	}
	for i, child := range e.prog.Children {
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

// untilWaitsFor names what until reads: the first child that is not ready, or else everything.
func (e *Evaluation) untilWaitsFor(out *Result) string {
	var names []string
	for _, r := range e.prog.Finalize.Reads {
		i, isChild := e.prog.ByID[r.ID]
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

// waitsForCleanup returns the first required child of spec.finalize that is rendered and does not exist: its kind is
// missing, or its write failed. Until it can be created, the cleanup is not done, whatever until says.
func (e *Evaluation) waitsForCleanup(out *Result) (NodeResult, bool) {
	for i, child := range e.prog.Children {
		if node := out.Nodes[i]; child.Cleanup && (node.KindMissing || node.State == StateNotApplied) {
			return node, true
		}
	}
	return NodeResult{}, false
}
