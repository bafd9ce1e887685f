package guard

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// Revision is a revision of a rule, as it runs in this process.
type Revision struct {
	// Hash tells it from other revisions of the rule.
	Hash string
	// Kinds are those of which this process sees children of the rule.
	Kinds []schema.GroupVersionKind
	// Limit is the rule's pruneLimit.
	Limit int
}

// Guard is the guard of one rule. The zero value has no revision. It is not safe for concurrent use.
//
// Every method has the caller's revision as an argument: a reconcile may end after another revision has begun, and has no say
// then.
type Guard struct {
	// confirmed are the revisions that the author of the rule has confirmed.
	confirmed []string
	revision  Revision
	phase     phase
	// evaluated is true once Assess has found that every parent has reported.
	evaluated bool
	// losses has the parents that may lose something to the revision: until they have reported, and after that those that would
	// lose something. It is empty once the revision is released.
	losses map[queue.Key]loss
	// tallies are the sums of losses, by their certainty.
	tallies [certain + 1]tally
}

// phase is how far the guard is with its revision. It only grows until the next Begin.
type phase int

const (
	// idle: there is no revision.
	idle phase = iota
	// collecting: parents report, and nothing is deleted.
	collecting
	// requested: the revision may delete once the record permits that.
	requested
	// released: it may delete.
	released
)

// loss is what one parent would lose to the revision.
type loss struct {
	certainty certainty
	objects   []identity.ID
}

// certainty is what is known of a loss.
type certainty int

const (
	// unreported: the parent was not reconciled yet.
	unreported certainty = iota
	// possible: the parent could not be evaluated, and would lose these objects at most.
	possible
	// certain: it would lose these objects.
	certain
)

// tally counts parents, their objects, and the grave ones among the objects.
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

// isGrave reports whether more is lost with an object than the object.
func isGrave(object identity.ID) bool {
	switch object.GroupKind {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: "Namespace"},
		schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return true
	}
	return false
}

// Outcome is what the caller of a Guard does next.
type Outcome struct {
	// May is true where the objects may be deleted that Decide or Doubt was asked about.
	May bool
	// Request is true once: the record of the rule is to permit the revision to delete.
	Request bool
	// Awaits is true as long as the guard waits for that. Where the record permits it, call Permit.
	Awaits bool
	// Requeue are parents to be reconciled again.
	Requeue []queue.Key
	// Report is true where Blocked may have another answer now.
	Report bool
	// Evaluated is true once: every parent has reported.
	Evaluated bool
}

// covers reports whether the guard is for a revision, with all the kinds of which that sees children.
func (g *Guard) covers(r Revision) bool {
	return g.phase != idle && g.revision.Hash == r.Hash &&
		!slices.ContainsFunc(r.Kinds, func(kind schema.GroupVersionKind) bool { return !slices.Contains(g.revision.Kinds, kind) })
}

// Begin has the guard wait for the reports of these parents, unless it did so for the revision already. permitted is true where
// the rule's record permits the revision to delete: that is released at once.
func (g *Guard) Begin(r Revision, parents queue.Keys, permitted bool) Outcome {
	if !g.covers(r) {
		*g = Guard{confirmed: g.confirmed, revision: r, phase: collecting}
		if permitted {
			g.phase = released
		} else {
			g.losses = make(map[queue.Key]loss, len(parents))
			for parent := range parents {
				g.set(parent, loss{})
			}
		}
	}
	return g.Assess(r)
}

// Decide takes the report of a parent that would lose these objects.
func (g *Guard) Decide(r Revision, parent queue.Key, objects []identity.ID) Outcome {
	return g.report(r, parent, loss{certainty: certain, objects: objects})
}

// Doubt is Decide for a parent that could not be evaluated, and would lose these objects at most.
func (g *Guard) Doubt(r Revision, parent queue.Key, objects []identity.ID) Outcome {
	return g.report(r, parent, loss{certainty: possible, objects: objects})
}

// Excuse takes the report of a parent that no longer exists, or that is being deleted: what it loses is not the revision's doing.
func (g *Guard) Excuse(r Revision, parent queue.Key) Outcome { return g.report(r, parent, loss{}) }

func (g *Guard) report(r Revision, parent queue.Key, now loss) Outcome {
	if !g.covers(r) {
		return Outcome{} // the start of the revision enqueues all parents
	}
	before, guarded := g.losses[parent]
	if !guarded {
		return Outcome{May: true} // it had nothing to lose to the revision
	}
	g.tallies[before.certainty].add(before.objects, -1)
	delete(g.losses, parent)
	if len(now.objects) > 0 {
		g.set(parent, now)
	}
	next := g.Assess(r)
	next.May = len(now.objects) == 0
	return next
}

func (g *Guard) set(parent queue.Key, now loss) {
	g.losses[parent] = now
	g.tallies[now.certainty].add(now.objects, 1)
}

// Confirm replaces the revisions that the author of the rule has confirmed. These may delete everything.
func (g *Guard) Confirm(r Revision, confirmed []string) Outcome {
	changed := !slices.Equal(g.confirmed, confirmed)
	g.confirmed = confirmed
	next := g.Assess(r)
	next.Report = next.Report && changed // each update of the catalog confirms, and a report asks for an update
	return next
}

// Assess returns what is to be done now, as after the rule's record has changed.
func (g *Guard) Assess(r Revision) (next Outcome) {
	if !g.covers(r) || g.phase == released {
		return Outcome{}
	}
	evaluated := g.IsEvaluated(r)
	if g.phase == collecting && g.isClear() {
		g.phase, next.Request = requested, true
	}
	next.Awaits = g.phase == requested
	next.Evaluated = evaluated && !g.evaluated
	next.Report = evaluated && (next.Request || g.tallies[certain].objects > 0)
	if next.Evaluated && g.phase == collecting {
		next.Requeue = g.parents(certain) // their conditions say now what they wait for
	}
	g.evaluated = evaluated
	return next
}

// isClear reports whether the revision may delete, once that is recorded.
func (g *Guard) isClear() bool {
	maybe, sure := g.tallies[possible], g.tallies[certain]
	return slices.Contains(g.confirmed, g.revision.Hash) ||
		g.tallies[unreported].parents == 0 && maybe.grave+sure.grave == 0 && maybe.objects+sure.objects <= g.revision.Limit
}

// Permit releases the revision, whose permission is recorded, if the guard requested that. It returns the parents whose objects
// may be deleted now.
func (g *Guard) Permit(r Revision) []queue.Key {
	if !g.covers(r) || g.phase != requested {
		return nil
	}
	parents := append(g.parents(certain), g.parents(possible)...)
	g.phase, g.losses = released, nil
	return parents
}

// parents are those with a loss of some certainty.
func (g *Guard) parents(with certainty) []queue.Key {
	var found []queue.Key
	for parent, loss := range g.losses {
		if loss.certainty == with {
			found = append(found, parent)
		}
	}
	return found
}

// MayRecreate reports whether an object of a parent may be deleted to be recreated. Where it may not, blocked is true if it has
// to wait until somebody acts.
func (g *Guard) MayRecreate(r Revision, parent queue.Key) (may, blocked bool) {
	if !g.covers(r) {
		return false, false // the start of the revision enqueues all parents
	}
	_, guarded := g.losses[parent]
	return !guarded, guarded && g.evaluated && g.phase == collecting
}

// IsReleased reports whether the revision may delete what it does not render.
func (g *Guard) IsReleased(r Revision) bool { return g.covers(r) && g.phase == released }

// IsEvaluated reports whether every parent has been reconciled since the revision began.
func (g *Guard) IsEvaluated(r Revision) bool {
	return g.covers(r) && (g.phase == released || g.tallies[unreported].parents == 0)
}

// AddKeys adds to found the parents of which the guard knows something.
func (g *Guard) AddKeys(found queue.Keys) {
	for parent := range g.losses {
		found[parent] = true
	}
}
