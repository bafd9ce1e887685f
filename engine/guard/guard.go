package guard

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// Revision is a revision of a rule, as it runs in this process.
type Revision struct {
	// Hash distinguishes it from other revisions of the rule.
	Hash string
	// Kinds are the kinds of children of the rule that this process sees.
	Kinds []schema.GroupVersionKind
	// Limit is the rule's pruneLimit.
	Limit int
}

// Guard is the guard of one revision of a rule. Make it with New. It is not safe for concurrent use.
type Guard struct {
	revision Revision
	// confirmed are the revisions that the author of the rule has confirmed.
	confirmed []string
	phase     phase
	// evaluated is true once Assess has found that every parent has reported.
	evaluated bool
	// losses has, by parent, what the revision would delete: each parent until it has reported, and after that those
	// that would lose something. It is empty once the revision is released.
	losses map[queue.Key]loss
	// tallies sums up losses by their certainty.
	tallies [certain + 1]tally
}

// New returns the guard of a revision that has not begun: nothing may be deleted.
func New(r Revision) *Guard { return &Guard{revision: r} }

// phase is the progress of the revision. It only grows until End.
type phase int

const (
	// idle: the revision has not begun, or has ended. Nothing may be deleted.
	idle phase = iota
	// collecting: parents report their losses, and nothing is deleted.
	collecting
	// requested: the revision may delete once the record permits it.
	requested
	// released: the revision may delete.
	released
)

// loss is what one parent would lose to the revision.
type loss struct {
	certainty certainty
	objects   []identity.ID
}

// certainty is how much is known about a loss.
type certainty int

const (
	// unreported: the parent has not been reconciled yet.
	unreported certainty = iota
	// possible: the parent could not be evaluated, and would lose at most these objects.
	possible
	// certain: the parent would lose these objects.
	certain
)

// tally counts parents, the objects that they would lose, and the grave ones among these.
type tally struct{ parents, objects, grave int }

func (t *tally) add(objects []identity.ID, sign int) {
	t.parents += sign
	t.objects += sign * len(objects)
	for _, object := range objects {
		if isGrave(object) {
			t.grave += sign
		}
	}
}

// isGrave reports whether more is lost with an object than the object itself.
func isGrave(object identity.ID) bool {
	switch object.GroupKind {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: "Namespace"},
		schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return true
	}
	return false
}

// Decision is what the caller of a Guard must do next.
type Decision struct {
	// May is true if the objects passed to Decide or Doubt may be deleted.
	May bool
	// Request is true once: the caller must record that the revision may delete.
	Request bool
	// Awaits is true while the guard waits for that. Once the record permits it, the caller must call Permit.
	Awaits bool
	// Requeue lists parents to reconcile again.
	Requeue []queue.Key
	// Report is true if Blocked may now return something else.
	Report bool
	// Evaluated is true once: when every parent has reported.
	Evaluated bool
}

// Covers reports whether the guard is for a revision and for all the kinds of children that the revision sees.
func (g *Guard) Covers(r Revision) bool {
	return g.revision.Hash == r.Hash &&
		!slices.ContainsFunc(r.Kinds, func(kind schema.GroupVersionKind) bool { return !slices.Contains(g.revision.Kinds, kind) })
}

// Begin makes the guard wait for the reports of these parents, unless the revision has begun before. If permitted, the
// rule's record permits the revision to delete, and the guard releases it at once.
func (g *Guard) Begin(parents queue.Keys, permitted bool) Decision {
	switch {
	case g.phase != idle:
	case permitted:
		g.phase = released
	default:
		g.phase, g.losses = collecting, make(map[queue.Key]loss, len(parents))
		for parent := range parents {
			g.set(parent, loss{})
		}
	}
	return g.Assess()
}

// End ends the revision, because the rule has stopped or has another one. What is reported from then on has no effect.
func (g *Guard) End() { *g = Guard{revision: g.revision} }

// Decide reports that a parent would lose these objects. A parent that no longer exists or is being deleted loses
// nothing to the revision.
func (g *Guard) Decide(parent queue.Key, objects []identity.ID) Decision {
	return g.report(parent, loss{certainty: certain, objects: objects})
}

// Doubt is Decide for a parent that could not be evaluated, and would lose at most these objects.
func (g *Guard) Doubt(parent queue.Key, objects []identity.ID) Decision {
	return g.report(parent, loss{certainty: possible, objects: objects})
}

func (g *Guard) report(parent queue.Key, now loss) Decision {
	if g.phase == idle {
		return Decision{} // the start of the revision enqueues all parents
	}
	before, guarded := g.losses[parent]
	if !guarded {
		return Decision{May: true} // it has nothing to lose to the revision
	}
	g.tallies[before.certainty].add(before.objects, -1)
	delete(g.losses, parent)
	if len(now.objects) > 0 {
		g.set(parent, now)
	}
	next := g.Assess()
	next.May = len(now.objects) == 0
	return next
}

func (g *Guard) set(parent queue.Key, now loss) {
	g.losses[parent] = now
	g.tallies[now.certainty].add(now.objects, 1)
}

// Confirm replaces the revisions that the author of the rule has confirmed. A confirmed revision may delete everything.
func (g *Guard) Confirm(confirmed []string) Decision {
	changed := !slices.Equal(g.confirmed, confirmed)
	g.confirmed = confirmed
	next := g.Assess()
	next.Report = next.Report && changed // each update of the catalog calls Confirm, and a report causes an update
	return next
}

// Assess returns what to do now, such as after a change of the rule's record.
func (g *Guard) Assess() (next Decision) {
	if g.phase == idle || g.phase == released {
		return Decision{}
	}
	evaluated := g.IsEvaluated()
	if g.phase == collecting && g.isClear() {
		g.phase, next.Request = requested, true
	}
	next.Awaits = g.phase == requested
	next.Evaluated = evaluated && !g.evaluated
	next.Report = evaluated && (next.Request || g.tallies[certain].objects > 0)
	if next.Evaluated && g.phase == collecting {
		next.Requeue = g.parents(certain) // their conditions can now say what they wait for
	}
	g.evaluated = evaluated
	return next
}

// isClear reports whether the revision may delete once that is recorded.
func (g *Guard) isClear() bool {
	maybe, sure := g.tallies[possible], g.tallies[certain]
	return slices.Contains(g.confirmed, g.revision.Hash) ||
		g.tallies[unreported].parents == 0 && maybe.grave+sure.grave == 0 && maybe.objects+sure.objects <= g.revision.Limit
}

// Permit releases the revision if the guard has requested its permission, which the caller has seen in the record. It
// returns the parents whose objects may now be deleted.
func (g *Guard) Permit() []queue.Key {
	if g.phase != requested {
		return nil
	}
	parents := append(g.parents(certain), g.parents(possible)...)
	g.phase, g.losses = released, nil
	return parents
}

// parents lists the parents with a loss of the given certainty.
func (g *Guard) parents(with certainty) []queue.Key {
	var found []queue.Key
	for parent, loss := range g.losses {
		if loss.certainty == with {
			found = append(found, parent)
		}
	}
	return found
}

// MayRecreate reports whether an object of a parent may be deleted to be recreated. If it may not, blocked is true if
// it has to wait until somebody acts.
func (g *Guard) MayRecreate(parent queue.Key) (may, blocked bool) {
	if g.phase == idle {
		return false, false // the start of the revision enqueues all parents
	}
	_, guarded := g.losses[parent]
	return !guarded, guarded && g.evaluated && g.phase == collecting
}

// Unreported returns a parent that has not been reconciled since the revision began; empty if there is none.
func (g *Guard) Unreported() queue.Key {
	for _, k := range g.parents(unreported) {
		return k
	}
	return queue.Key{}
}

// IsReleased reports whether the revision may delete what it does not render.
func (g *Guard) IsReleased() bool { return g.phase == released }

// IsEvaluated reports whether every parent has been reconciled since the revision began.
func (g *Guard) IsEvaluated() bool {
	return g.phase != idle && (g.phase == released || g.tallies[unreported].parents == 0)
}
