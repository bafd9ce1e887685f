package rules

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// nodeRef is an expression's use of a child or a lookup.
type nodeRef struct {
	// root is what stands before the id: children, each, lookups or observed.
	root, id string
	// hard is true where the expression has no value when the node is skipped.
	hard bool
	// past is true where the expression reads something of a lookup that may be
	// null.
	past bool
	pos  diagnostic.Position
	// guards are the conditions of the lookups by way of which the node is read.
	guards []*guard
}

func (r *nodeRef) name() string { return r.root + "." + r.id }

// orders says whether the node must be settled before the one that reads it.
func (r *nodeRef) orders() bool { return r.root == rootChildren || r.root == rootEach }

// uses is what a part of a rule reads, variables and lookups followed.
type uses struct {
	nodes []nodeRef
	// ownStatus is true where the parent's status is read.
	ownStatus bool
	// items is true where something of the forEach item is read.
	items bool
	// random are the scalars with expressions that are made at random.
	random []*yamltree.Node
	// generated are the scalars in which random is the default of a field of the child's own
	// observed object.
	generated []*yamltree.Node
	// fields are what is read of objects of the cluster, in rules with patches only.
	fields []fieldRead
}

func (u *uses) add(o *uses) {
	u.nodes = append(u.nodes, o.nodes...)
	u.ownStatus = u.ownStatus || o.ownStatus
	u.items = u.items || o.items
	u.random = append(u.random, o.random...)
	u.generated = append(u.generated, o.generated...)
	u.fields = append(u.fields, o.fields...)
}

// followedRead is a read of a node without the place and the way to it.
type followedRead struct {
	root, id   string
	hard, past bool
}

// maxWays is by how many different ways of lookups a node counts that is read at one place.
const maxWays = 16

// follow adds what a variable or a lookup reads that is read at pos: each once, however often it
// is read there, because variables that read one another twice would otherwise double with each.
func (u *uses) follow(o *uses, pos diagnostic.Position, by *guard) {
	u.ownStatus = u.ownStatus || o.ownStatus
	u.items = u.items || o.items && by == nil // a lookup's items are its own
	fields := map[string]bool{}
	for _, r := range o.fields {
		if r.pos = pos; !fields[r.key()] {
			fields[r.key()] = true
			u.fields = append(u.fields, r)
		}
	}
	ways := map[followedRead][][]*guard{}
	for _, r := range o.nodes {
		r.pos = pos
		if by != nil {
			r.guards = append(slices.Clip(r.guards), by)
		}
		read := followedRead{root: r.root, id: r.id, hard: r.hard, past: r.past}
		known := ways[read]
		if len(known) == maxWays || slices.ContainsFunc(known, func(way []*guard) bool { return slices.Equal(way, r.guards) }) {
			continue
		}
		ways[read] = append(known, r.guards)
		u.nodes = append(u.nodes, r)
	}
}

// guard is the condition under which a part of a rule is evaluated at all.
type guard struct {
	// given is true where there is a condition, and lost where it could not be read.
	given, lost bool
	// conjuncts are the terms of the condition that are joined by &&, as CEL writes
	// them.
	conjuncts []string
	// asked are the nodes of which the condition asks whether they are there.
	asked map[string]bool
}

// ensures says whether a node with the condition target is there, as far as is
// known, where the guard's condition holds.
func (g *guard) ensures(node string, target *guard) bool {
	if g.asked[node] || containsAll(g.conjuncts, target.conjuncts) {
		return true
	}
	// A condition with errors of its own could make the read a right one.
	return g.lost || g.given && (len(g.conjuncts) == 0 || len(target.conjuncts) == 0)
}

// whenGuard is the guard that a condition makes, compiled as x; what it reads is
// in u.
func whenGuard(x *checkedExpression, u *uses) guard {
	g := guard{given: true, conjuncts: conjuncts(x.expr), asked: map[string]bool{}}
	for _, r := range u.nodes {
		if !r.hard {
			g.asked[r.name()] = true
		}
	}
	return g
}

// guardOwn makes the reads of a node soft where the same part, such as one
// expression, asks whether the node is there: has(children.a) ? children.a.x : …
func (u *uses) guardOwn() {
	asked := map[string]bool{}
	for _, r := range u.nodes {
		if !r.hard {
			asked[r.name()] = true
		}
	}
	for i := range u.nodes {
		if r := &u.nodes[i]; asked[r.name()] {
			r.hard, r.past = false, false
		}
	}
}

// notePast notes that something is read of a lookup that may be null.
func (a *analysis) notePast(e ast.Expr, from *origin) {
	if from.optional == "" {
		return
	}
	a.uses.nodes = append(a.uses.nodes, nodeRef{root: rootLookups, id: from.optional, hard: true, past: true, pos: a.at(e.ID())})
}

// noteNullTest notes a comparison of a lookup with null, which asks whether it is
// there.
func (a *analysis) noteNullTest(call ast.CallExpr, operands []*origin) {
	if fn := call.FunctionName(); fn != operators.Equals && fn != operators.NotEquals {
		return
	}
	for i, arg := range call.Args() {
		if other := operands[1-i]; other.optional != "" && isNullLiteral(arg) {
			a.uses.nodes = append(a.uses.nodes, nodeRef{root: rootLookups, id: other.optional})
		}
	}
}
