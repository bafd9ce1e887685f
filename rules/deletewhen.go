package rules

// Deletion says whether a rule wants its parent deleted.
type Deletion uint8

const (
	// DeletionOff means that it does not.
	DeletionOff Deletion = iota
	// DeletionUnknown means that deleteWhen waits or failed.
	DeletionUnknown
	// DeletionOn means that it does.
	DeletionOn
)

// DeletesParents says whether the rule has a deleteWhen.
func (p *Program) DeletesParents() bool { return p.deleteWhen != nil }

// renderDeletion fills in whether the parent is to be deleted.
func (e *Evaluation) renderDeletion(out *Outcome) {
	if e.prog.deleteWhen == nil {
		return
	}
	holds, p := e.prog.deleteWhen.isTrue(&e.base)
	switch {
	case p != nil:
		out.note(p.under("deleteWhen"))
		out.Deletion = DeletionUnknown
	case holds:
		out.Deletion = DeletionOn
	}
}
