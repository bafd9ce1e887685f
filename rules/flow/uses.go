package flow

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// Ref is a child or a lookup that an expression reads.
type Ref struct {
	// Root is children, each, lookups or observed.
	Root, ID string
	// Hard is true if the expression has no value when the node is skipped.
	Hard bool
	// Past is true if the expression reads a field of a lookup that may be null.
	Past bool
	Pos  diagnostic.Position
	// Guards are the conditions of the lookups through which the node is read.
	Guards []*Guard
}

// Name is the node as an expression names it.
func (r *Ref) Name() string { return r.Root + "." + r.ID }

// Orders reports whether the node must be settled before its reader.
func (r *Ref) Orders() bool { return r.Root == RootChildren || r.Root == RootEach }

// Uses is what a part of a rule reads, including what it reads through variables and lookups.
type Uses struct {
	Nodes []Ref
	// Own is what of the parent is read that Kanon's own writes change.
	Own OwnReads
	// Finalizing is true if finalizing is read.
	Finalizing bool
	// Items is true if an item of forEach is read.
	Items bool
	// Random are the scalars whose expressions call random.
	Random []*yamltree.Node
	// Generated are the scalars in which random is the default of a field of the child's own observed object.
	Generated []*yamltree.Node
	// Fields are the fields of objects that are read. They are only recorded in rules for which they matter.
	Fields []FieldRead
	// Versions are the fields of the parent's own metadata that are read and that a write of the parent changes.
	Versions []VersionRead
}

// VersionRead is a read of metadata.resourceVersion, metadata.managedFields or metadata.generation of the parent.
type VersionRead struct {
	Name string
	Pos  diagnostic.Position
}

// OwnReads is what of the parent is read that changes when Kanon writes the status of the parent.
type OwnReads struct {
	// Status is true if the status is read, or the parent as a whole.
	Status bool
	// Version is true if metadata.resourceVersion or metadata.managedFields is read, or the metadata as a whole.
	Version bool
}

// Add adds what another part reads.
func (r *OwnReads) Add(o OwnReads) {
	r.Status = r.Status || o.Status
	r.Version = r.Version || o.Version
}

// Add adds what another part reads.
func (u *Uses) Add(o *Uses) {
	u.Nodes = append(u.Nodes, o.Nodes...)
	u.Versions = append(u.Versions, o.Versions...)
	u.Own.Add(o.Own)
	u.Finalizing = u.Finalizing || o.Finalizing
	u.Items = u.Items || o.Items
	u.Random = append(u.Random, o.Random...)
	u.Generated = append(u.Generated, o.Generated...)
	u.Fields = append(u.Fields, o.Fields...)
}

// followedRead is a Ref without its position and guards.
type followedRead struct {
	root, id   string
	hard, past bool
}

// maxWays bounds the different lookups through which a node counts as read at one position.
const maxWays = 16

// Follow adds what a variable or a lookup reads. pos is the position that reads it, and by the condition of the lookup.
// Each read is added once: variables that read each other twice would otherwise double the reads with every step.
func (u *Uses) Follow(o *Uses, pos diagnostic.Position, by *Guard) {
	u.Own.Add(o.Own)
	u.Finalizing = u.Finalizing || o.Finalizing
	u.Items = u.Items || o.Items && by == nil // a lookup's items are its own
	fields := map[string]bool{}
	for _, r := range o.Fields {
		if r.Pos = pos; !fields[r.key()] {
			fields[r.key()] = true
			u.Fields = append(u.Fields, r)
		}
	}
	ways := map[followedRead][][]*Guard{}
	for _, r := range o.Nodes {
		r.Pos = pos
		if by != nil {
			r.Guards = append(slices.Clip(r.Guards), by)
		}
		read := followedRead{root: r.Root, id: r.ID, hard: r.Hard, past: r.Past}
		known := ways[read]
		if len(known) == maxWays || slices.ContainsFunc(known, func(way []*Guard) bool { return slices.Equal(way, r.Guards) }) {
			continue
		}
		ways[read] = append(known, r.Guards)
		u.Nodes = append(u.Nodes, r)
	}
}

// Guard is the condition under which a part of a rule is evaluated.
type Guard struct {
	// Given is true if there is a condition, and Lost if it could not be read.
	Given, Lost bool
	// Conjuncts are the terms of the condition that && joins, in CEL's notation.
	Conjuncts []string
	// Asked are the nodes whose existence the condition tests.
	Asked map[string]bool
}

// ensures reports whether a node with the condition target exists, as far as is known, if the guard's condition is
// true.
func (g *Guard) ensures(node string, target *Guard) bool {
	if g.Asked[node] || containsAll(g.Conjuncts, target.Conjuncts) {
		return true
	}
	// A condition with mistakes of its own might ensure it.
	return g.Lost || g.Given && (len(g.Conjuncts) == 0 || len(target.Conjuncts) == 0)
}

// GuardOf is the guard of a condition. u is what the condition reads.
func GuardOf(x *celenv.Expression, u *Uses) Guard {
	return Guard{Given: true, Conjuncts: conjuncts(x), Asked: u.asked()}
}

// asked returns the nodes whose existence the part tests.
func (u *Uses) asked() map[string]bool {
	asked := map[string]bool{}
	for _, r := range u.Nodes {
		if !r.Hard {
			asked[r.Name()] = true
		}
	}
	return asked
}

// Under adds the condition under which the part exists.
func (g Guard) Under(outer Guard) Guard {
	return Guard{
		Given: true, Lost: g.Lost, Asked: g.Asked,
		Conjuncts: append(append([]string{}, outer.Conjuncts...), g.Conjuncts...),
	}
}

// GuardOwn makes the reads of a node soft if the same part tests whether the node exists: has(children.a) ?
// children.a.x : …
func (u *Uses) GuardOwn() {
	asked := u.asked()
	for i := range u.Nodes {
		if r := &u.Nodes[i]; asked[r.Name()] {
			r.Hard, r.Past = false, false
		}
	}
}

// Ensured reports whether one of the conditions under which a node is read ensures that it exists.
func Ensured(r Ref, reader, target *Guard) bool {
	return reader.ensures(r.Name(), target) ||
		slices.ContainsFunc(r.Guards, func(g *Guard) bool { return g.ensures(r.Name(), target) })
}

// containsAll reports whether have contains all of want. It is false for an empty want.
func containsAll(have, want []string) bool {
	return len(want) > 0 && !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
}

// conjuncts lists the terms that && joins.
func conjuncts(x *celenv.Expression) []string {
	var out []string
	for _, e := range celenv.Terms(x.Root(), operators.LogicalAnd) {
		out = append(out, x.Source(e))
	}
	return out
}

// Sort sorts nodes so that each comes after those it needs, as near to their original order as possible. needs has the
// indices of those that a node needs. A cycle begins and ends with the same node. There is one for each need that
// closes a cycle.
func Sort(needs [][]int) (order []int, cycles [][]int) {
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, len(needs))
	var path []int
	var visit func(i int)
	visit = func(i int) {
		switch state[i] {
		case done:
			return
		case open:
			cycles = append(cycles, append(slices.Clone(path[slices.Index(path, i):]), i))
			return
		}
		state[i] = open
		path = append(path, i)
		for _, j := range needs[i] {
			visit(j)
		}
		path = path[:len(path)-1]
		state[i] = done
		order = append(order, i)
	}
	for i := range needs {
		visit(i)
	}
	return order, cycles
}

// FieldRead is a field of an object that an expression reads.
type FieldRead struct {
	// Root is the object: parent, children.<id>, lookups.<id>, observed.<id>, or the name of an item.
	Root string
	path []string
	// asks is true if the expression only tests whether the field exists.
	asks bool
	Text string
	Pos  diagnostic.Position
}

func (r FieldRead) key() string {
	return strings.Join(append([]string{r.Root, strconv.FormatBool(r.asks)}, r.path...), "\x00")
}

// FieldReads lists the fields that an expression reads of objects. isItem reports whether a name is a forEach item, and
// at gives the position of a node.
func FieldReads(x *celenv.Expression, isItem func(name string) bool, at func(id int64) diagnostic.Position) []FieldRead {
	inner := map[int64]bool{}
	nodes := x.Nodes()
	for _, e := range nodes {
		if step, ok := StepOf(e); ok {
			inner[step.Operand.ID()] = true
		}
	}
	var reads []FieldRead
	for _, e := range nodes {
		if inner[e.ID()] {
			continue // a part of a longer path
		}
		p := PathOf(e)
		root := p.RootName()
		if root != RootParent && root != RootNow && (!IsGroup(root) || root == RootVariables) && !isItem(root) {
			continue
		}
		names := p.Names()
		read := FieldRead{Root: root, path: names[1:], Text: x.Source(e), Pos: at(e.ID())}
		if IsGroup(root) {
			if len(names) < 2 {
				continue
			}
			read.Root, read.path = root+"."+names[1], names[2:]
		}
		read.asks = len(p.Steps) > 0 && p.Steps[len(p.Steps)-1].Asks
		reads = append(reads, read)
	}
	return reads
}

// ReadsContent reports whether an expression may read more of the parent than its metadata, itself or through a
// variable.
func ReadsContent(x *celenv.Expression) bool {
	isVariable := func(name string) bool { return name == RootVariables }
	nowhere := func(int64) diagnostic.Position { return diagnostic.Position{} }
	return slices.ContainsFunc(FieldReads(x, isVariable, nowhere), func(r FieldRead) bool {
		return strings.HasPrefix(r.Root, RootVariables) || r.Root == RootParent && (len(r.path) == 0 || r.path[0] != "metadata")
	})
}

// StateReads lists the reads of the status of observed objects, including ready() and kstatus(). Each has the position
// of its beginning.
func StateReads(x *celenv.Expression, at func(id int64) diagnostic.Position) []FieldRead {
	var reads []FieldRead
	for _, e := range x.Nodes() {
		judged := e.Kind() == ast.CallKind && (e.AsCall().FunctionName() == "ready" || e.AsCall().FunctionName() == "kstatus") && len(e.AsCall().Args()) == 1
		if judged {
			e = e.AsCall().Args()[0]
		}
		p := PathOf(e)
		names := p.Names()
		if p.RootName() == RootObserved && (judged && len(names) == 2 || len(names) == 3 && names[2] == "status") {
			reads = append(reads, FieldRead{Root: RootObserved + "." + names[1], path: names[2:], Text: x.Source(e), Pos: at(p.root.ID())})
		}
	}
	return reads
}

// Field is the first field that is read; empty for the object as a whole.
func (r FieldRead) Field() string {
	if len(r.path) == 0 {
		return ""
	}
	return r.path[0]
}

// IsPartOf reports whether r reads what other reads, or a part of it.
func (r FieldRead) IsPartOf(other FieldRead) bool {
	return r.Root == other.Root && len(other.path) <= len(r.path) && slices.Equal(other.path, r.path[:len(other.path)])
}

// IsBelow reports whether r reads a field for which is is true, or a part of one.
func (r FieldRead) IsBelow(is func(path []string) bool) bool {
	for n := range r.path {
		if is(r.path[:n+1]) {
			return true
		}
	}
	return false
}

// IsOneOf reports whether r reads one of the fields, or a part of one.
func (r FieldRead) IsOneOf(fields ...string) bool {
	return slices.ContainsFunc(fields, func(field string) bool {
		path := strings.Split(field, ".")
		return len(path) <= len(r.path) && slices.Equal(path, r.path[:len(path)])
	})
}

// writtenField is a field that a template sets.
type writtenField struct {
	Path []string
	as   writtenAs
}

// writtenAs is how a template sets a field.
type writtenAs uint8

const (
	// asValue sets the field as a whole.
	asValue writtenAs = iota
	// asComputed sets it, or some of its keys, with an expression.
	asComputed
	// asList sets items of a list, which may have items of others.
	asList
)

// Written lists the fields that a template sets. path is the path of n.
func Written(n *yamltree.Node, path []string) []writtenField {
	switch n.Kind {
	case yamltree.Sequence:
		return []writtenField{{Path: path, as: asList}}
	case yamltree.Scalar:
		if _, whole := yamltree.WholeOf(n); whole {
			return []writtenField{{Path: path, as: asComputed}}
		}
		return []writtenField{{Path: path}}
	}
	var out []writtenField
	for _, f := range n.Fields {
		if yamltree.HasExpression(f.Name) {
			out = append(out, writtenField{Path: path, as: asComputed})
			continue
		}
		out = append(out, Written(f.Value, append(slices.Clip(path), f.Name))...)
	}
	return out
}

// IsReadBy reports whether a read contains the written field, or is a part of it.
func (w writtenField) IsReadBy(r FieldRead) bool {
	path := r.path
	at := slices.Index(path, anyKey)
	if at >= 0 {
		path = path[:at]
	}
	for i := range min(len(path), len(w.Path)) {
		if path[i] != w.Path[i] {
			return false
		}
	}
	switch {
	case len(path) > len(w.Path), len(path) == len(w.Path) && at >= 0:
		return w.as == asValue // of the others it may be another part
	case len(path) == len(w.Path):
		return w.as != asList
	default:
		return !r.asks // what contains the field exists without it too
	}
}

// ObjectText is the name and namespace of an object as written in the rule. Equal texts give the same object for one
// parent.
type ObjectText struct{ Name, Namespace string }

// ObjectTextOf is the ObjectText of two fields. The parent's namespace is empty.
func ObjectTextOf(name, namespace *yamltree.Node) ObjectText {
	var out ObjectText
	if text, ok := name.Text(); ok {
		out.Name = SameText(text)
	}
	if text, ok := namespace.Text(); ok && SameText(text) != "${parent.metadata.namespace}" {
		out.Namespace = SameText(text)
	}
	return out
}

// SameText is a text without blanks at the ends of its expressions.
func SameText(s string) string {
	parts, err := yamltree.Scan(s)
	if err != nil {
		return s
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Expr {
			b.WriteString("${" + strings.TrimSpace(p.Text) + "}")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}
