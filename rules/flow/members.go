package flow

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

func (a *analyzer) exampleMember(root string) string {
	if names := a.Names.Members(root); len(names) > 0 {
		return names[0]
	}
	return "name"
}

func (a *analyzer) ident(e ast.Expr, env bindings) *Origin {
	name := e.AsIdent()
	if o, ok := env[name]; ok {
		return o
	}
	if name == RootParent || IsGroup(name) {
		return &Origin{Root: name}
	}
	switch name {
	case RootSelf:
		a.out.Live[a.Scope.Child] = true
		return later()
	case RootNow:
		return clocked(1)
	case RootFinalizing:
		a.out.Finalizing = true
		a.checkFinalizing(e)
	}
	if o := a.Names.Origin(name); o != nil {
		a.out.Items = true
		return o
	}
	return fixed()
}

// member is the origin of from.name, and that of the missing value if nothing has the name. soft is true if the
// expression has a value without it.
func (a *analyzer) member(e ast.Expr, from *Origin, name string, soft bool) (value, missing *Origin) {
	switch from.Root {
	case RootParent:
		switch name {
		case "status":
			a.out.Own.Status = true
			return later(), later()
		case "metadata":
			return &Origin{Root: rootMetadata}, fixed()
		}
		return fixed(), fixed()
	case rootMetadata:
		if name == "resourceVersion" || name == "managedFields" || name == "generation" {
			a.out.Own.Version = a.out.Own.Version || name != "generation"
			pos := a.Position(NameOffset(a.Expr.Text(), a.Expr.Offset(e.ID()), name))
			a.out.Versions = append(a.out.Versions, VersionRead{Name: name, Pos: pos})
		}
		return fixed(), fixed()
	case RootChildren:
		return a.child(e, name, soft), later()
	case RootEach:
		return a.pair(e, name, soft), later()
	case RootObserved:
		return a.observed(e, name), later()
	case RootLookups:
		return a.lookup(e, name, soft), later()
	case RootVariables:
		return a.variable(e, name), fixed()
	case RootStatus:
		a.statusField(e, name)
		return later(), later()
	}
	switch {
	case from.Fields != nil:
		if value = from.Fields[name]; value == nil {
			value = fixed()
		}
		return value, fixed()
	case from.complete:
		return later(), from
	case from.optional != "":
		return &Origin{Waits: from.Waits}, from
	}
	return from, from
}

// noteWhole records that a value is read as a whole, and not only one of its members.
func (a *analyzer) noteWhole(o *Origin) {
	a.out.Own.Add(OwnReads{Status: o.Root == RootParent, Version: o.Root == RootParent || o.Root == rootMetadata})
}

// noteMember records that the node e reads a member of a group.
func (a *analyzer) noteMember(e ast.Expr, root, id string, hard bool) {
	pos := a.Position(NameOffset(a.Expr.Text(), a.Expr.Offset(e.ID()), id))
	a.out.Nodes = append(a.out.Nodes, Ref{Root: root, ID: id, Hard: hard, Pos: pos})
}

// child visits children.<id>.
func (a *analyzer) child(e ast.Expr, id string, soft bool) *Origin {
	if !a.Scope.AllowChildren {
		return later() // unknownNames reported it
	}
	spec := a.childCalled(e, RootChildren, id)
	if spec == nil {
		return later()
	}
	a.out.Live[id] = true
	a.noteMember(e, RootChildren, id, !soft)
	return &Origin{Waits: true, complete: spec.Many()}
}

// childCalled is the child that the node e names after a root; nil after a finding.
func (a *analyzer) childCalled(e ast.Expr, root, id string) *syntax.Child {
	spec := a.Children[id]
	if spec == nil && !a.Rule.OpenChildren {
		a.out.ReportNode(e.ID(), id, diagnostic.CodeUnknownChild, "there is no child called %q", id).Suggest(id, a.Names.Members(root))
	}
	return spec
}

// observed visits observed.<id>. It orders nothing, and may be null.
func (a *analyzer) observed(e ast.Expr, id string) *Origin {
	if !a.Scope.AllowChildren || a.childCalled(e, RootObserved, id) == nil {
		return later()
	}
	a.out.Live[id] = true
	a.noteMember(e, RootObserved, id, false)
	return later()
}

// pair visits each.<id>.
func (a *analyzer) pair(e ast.Expr, id string, soft bool) *Origin {
	if len(a.Scope.Family) == 0 {
		return later() // unknownNames reported it
	}
	switch {
	case slices.Contains(a.Scope.Family, id):
		a.out.Items, a.out.Live[id] = true, true
		a.noteMember(e, RootEach, id, !soft)
	default:
		if child := a.childCalled(e, RootEach, id); child != nil {
			a.out.ReportNode(e.ID(), id, diagnostic.CodeNotPaired, "%s does not have the same items as %s, so each.%s does not exist", id, a.Scope.Place, id).
				WithRelated(child.Pos, "the child is here").Suggest(id, a.Scope.Family)
		}
	}
	return later()
}

// variable visits variables.<name>.
func (a *analyzer) variable(e ast.Expr, name string) *Origin {
	v := a.Names.Variable(name)
	if v == nil {
		if !a.Rule.OpenVariables && !a.Scope.OpenVariables {
			a.out.ReportNode(e.ID(), name, diagnostic.CodeUnknownVariable, "there is no variable called %q", name).Suggest(name, a.Names.Members(RootVariables))
		}
		return fixed()
	}
	a.follow(e, RootVariables+"."+name, v.Uses, nil)
	if len(v.Uses.Random) > 0 {
		a.out.CallsRandom = true
		keeps := a.Scope.OwnRandom || a.Scope.OwnGenerated != "" // of the others it was reported
		if keeps && !a.Scope.Random && a.Scope.Own == "" && v.Local {
			a.reportUnkept(e, name)
		}
	}
	if v.Origin == nil {
		return fixed()
	}
	return v.Origin
}

// lookup visits lookups.<id>.
func (a *analyzer) lookup(e ast.Expr, id string, soft bool) *Origin {
	l := a.Names.Lookup(id)
	if l == nil {
		if !a.Rule.OpenLookups {
			f := a.out.ReportNode(e.ID(), id, diagnostic.CodeUnknownLookup, "there is no lookup called %q", id)
			if f.Suggest(id, a.Names.Members(RootLookups)); f.Hint == "" && a.Children[id] != nil {
				meant := RootChildren + "." + id
				if id == a.Scope.Own { // a child cannot read itself
					meant = RootObserved + "." + id
				}
				begin := f.Position
				begin.Column -= len(RootLookups + ".")
				f.WithHint("write %s", meant)
				f.WithEdit(begin, RootLookups+"."+id, meant)
			}
		}
		return later()
	}
	a.noteMember(e, RootLookups, id, !soft)
	a.follow(e, RootLookups+"."+id, l.Uses, l.Guard)
	o := &Origin{Waits: true, complete: l.IsList()}
	if l.MayBeNull() {
		o.optional = id
	}
	return o
}

// follow adds what a variable or a lookup reads.
func (a *analyzer) follow(e ast.Expr, name string, read *Uses, by *Guard) {
	for _, r := range read.Nodes {
		if r.Root != RootLookups && !a.Scope.AllowChildren {
			a.report(e, diagnostic.CodeOutOfScope, "%s reads %s, which cannot be read in %s", name, r.Name(), a.Scope.Place)
		}
	}
	a.out.Follow(read, a.at(e), by)
}

// statusField visits status.<name> in an event.
func (a *analyzer) statusField(e ast.Expr, name string) {
	status := a.Rule.Status
	if status == nil || status.Kind != yamltree.Mapping || status.Partial || status.Has(name) {
		return
	}
	var names []string
	for _, f := range status.Fields {
		if yamltree.HasExpression(f.Name) {
			return // it may be one of these
		}
		names = append(names, f.Name)
	}
	a.out.ReportNode(e.ID(), name, diagnostic.CodeUnknownStatus, "spec.status has no field %q, and status is what that renders", name).
		Suggest(name, names)
}

// checkFinalizing reports a read of finalizing in a rule without spec.finalize.
func (a *analyzer) checkFinalizing(e ast.Expr) {
	if a.Rule.Finalize == nil && !a.Rule.Partial {
		a.report(e, diagnostic.CodeConstant, "finalizing is always false, because the rule has no spec.finalize").
			WithHint("write spec.finalize: {}, which keeps a parent that is deleted until its children are, or leave finalizing out")
	}
}

// checkRandom records a call of random, and reports it if its value is not kept.
func (a *analyzer) checkRandom(e ast.Expr) {
	if e.AsCall().FunctionName() != celenv.RandomName {
		return
	}
	a.out.CallsRandom = true
	switch {
	case a.Scope.Random:
	case a.Scope.Own != "" && GeneratedPath(a.Expr.Root(), a.Scope.Own) != nil:
		a.out.Generates = true // the compiler checks which field that is
	default:
		f := a.report(e, diagnostic.CodeOutOfScope, "random gives another value at each evaluation, and %s is evaluated again and again", a.Scope.Place)
		f.Hint = a.Names.RandomHint()
	}
}

func (a *analyzer) reportUnkept(e ast.Expr, name string) {
	f := a.report(e, diagnostic.CodeOutOfScope, "variables.%s is generated with random, and can be read in the template only: %s would see another value than the object has", name, a.Scope.Place)
	if a.Scope.Child != "" {
		f.WithHint("read the field of self")
	} else if id := a.Scope.OwnGenerated; id != "" {
		f.WithHint("read the field of %s.%s", RootObserved, id)
	}
}

// The names that an expression can begin with, besides those of a forEach.
const (
	RootParent    = "parent"
	RootChildren  = "children"
	RootLookups   = "lookups"
	RootObserved  = "observed"
	RootEach      = "each"
	RootVariables = "variables"
	RootSelf      = "self"
	RootStatus    = "status"
	RootNow       = celenv.NowName

	RootFinalizing = "finalizing"

	rootMetadata = RootParent + ".metadata"
)

// DeletionTime is the field of the parent that exists while finalizing is true.
const DeletionTime = rootMetadata + ".deletionTimestamp"

// IsGroup reports whether a root has no value of its own, but only members.
func IsGroup(root string) bool {
	switch root {
	case RootVariables, RootChildren, RootLookups, RootObserved, RootEach:
		return true
	}
	return false
}

// NameOffset is the offset of a name in the text of an expression. CEL gives the offset of the dot or bracket before
// the name, or of the parenthesis after it. For an empty name, it is the offset of what follows the dot.
func NameOffset(text string, offset int, name string) int {
	if offset < 0 || offset > len(text) {
		return offset
	}
	if name == "" {
		return offset + len(text[offset:]) - len(strings.TrimPrefix(text[offset:], "."))
	}
	rest := strings.TrimLeft(text[offset:], ".?[\"'` ")
	if strings.HasPrefix(rest, name) {
		return len(text) - len(rest)
	}
	if before := strings.TrimRight(text[:offset], " "); strings.HasSuffix(before, name) {
		return len(before) - len(name)
	}
	if i := strings.Index(rest, "."+name); i >= 0 { // has(children.name) stands at its parenthesis
		return len(text) - len(rest) + i + 1
	}
	return offset
}

// Origin is where a value comes from. It decides what follows if something in the value does not exist.
type Origin struct {
	// Waits is true for what fills in later: children, lookups, observed, self and the parent's status.
	Waits bool
	// Drifts is true if the value changes with the clock in a way that is not followed. speed is by how many seconds it
	// grows in a second.
	Drifts bool
	speed  int
	// Root is a name whose members have origins of their own.
	Root string
	// Fields are the origins of the fields of a mapping in a template.
	Fields map[string]*Origin
	// complete is true for the list of a child or a lookup, which either has all its items or does not exist.
	complete bool
	// optional is the lookup that the value is, if that can be null.
	optional string
}

func fixed() *Origin { return &Origin{} }
func later() *Origin { return &Origin{Waits: true} }

// Join is the origin of a value that may come from either.
func Join(a, b *Origin) *Origin {
	switch {
	case a == b || b == nil:
		return a
	case a == nil:
		return b
	}
	return &Origin{Waits: a.Waits || b.Waits, Drifts: a.Moves() || b.Moves()}
}

// Moves reports whether a value can change with every second.
func (o *Origin) Moves() bool { return o != nil && (o.speed != 0 || o.Drifts) }

// Steady is the origin of a value that became JSON. A time is text then, and it is not known when that changes.
func (o *Origin) Steady() *Origin {
	if o.speed == 0 {
		return o
	}
	return &Origin{Waits: o.Waits, Drifts: true}
}

// What depends on now is followed through expressions like any other origin. now itself, and now with a constant added
// to it or subtracted from a constant, moves with the clock at a speed that is known here: 1 for now and now - t, -1
// for t - now. A comparison of two such values, and a function that rounds a time, does not move: its value stays until
// a time that the evaluation can compute (celenv.Clock). Everything else that is computed from now drifts: it can change
// with every second, and nobody knows when. A variable may have such a value, but nothing may be decided by it, nor
// rendered from it unless spec.requeueAfter sets how often.

func clocked(speed int) *Origin { return &Origin{speed: speed} }

// maxSpeed bounds what is followed of sums such as now - t + (now - u).
const maxSpeed = 100

// clockedCall is the origin of a call with regard to the clock; nil if no operand moves. operands are in the order of
// celenv.Operands.
func (a *analyzer) clockedCall(e ast.Expr, operands []*Origin) *Origin {
	moving := make([]int, len(operands))
	some, drifts := false, false
	for i, o := range operands {
		moving[i] = o.speed
		some = some || o.speed != 0
		drifts = drifts || o.Drifts
	}
	switch {
	case drifts:
		return &Origin{Drifts: true}
	case !some:
		return nil
	}
	function := e.AsCall().FunctionName()
	switch {
	case function == operators.Add:
		return a.sum(e, moving[0]+moving[1])
	case function == operators.Subtract:
		return a.sum(e, moving[0]-moving[1])
	case isConversion(function) && len(moving) == 1:
		return clocked(moving[0])
	case celenv.IsComparison(function), a.Expr.Env().Own(function).ChangesAt(moving):
		a.out.Moving[e.ID()] = slices.Clone(moving)
		return fixed()
	}
	return a.drift(e)
}

func isConversion(function string) bool {
	return function == "timestamp" || function == "duration" || function == "dyn"
}

func (a *analyzer) sum(e ast.Expr, speed int) *Origin {
	if speed > maxSpeed || speed < -maxSpeed {
		return a.drift(e)
	}
	return clocked(speed)
}

// drift records the first node at which a value begins to drift.
func (a *analyzer) drift(e ast.Expr) *Origin {
	if a.driftsAt == nil {
		a.driftsAt = e
	}
	return &Origin{Drifts: true}
}

func (a *analyzer) conditional(e ast.Expr, condition, yes, no *Origin) *Origin {
	out := *Join(yes, no)
	if yes.Root == no.Root && yes.Root != "" {
		out = *yes
	} else {
		a.noteWhole(yes)
		a.noteWhole(no)
	}
	switch {
	case !condition.Moves() && !yes.Drifts && !no.Drifts && yes.speed == no.speed:
		out.speed, out.Drifts = yes.speed, false
	case condition.Moves() || yes.Moves() || no.Moves():
		out.speed, out.Drifts = 0, a.drift(e).Drifts
	}
	return &out
}

// checkMoving reports an expression whose value changes with the clock.
func (a *analyzer) checkMoving(from *Origin) {
	if from == nil || a.Scope.MayMove || !from.Moves() {
		return
	}
	if a.Scope.Rendered && a.Rule.RequeueAfter != nil {
		a.out.Drifts = true
		return
	}
	at := a.Expr.Root()
	if a.driftsAt != nil {
		at = a.driftsAt
	}
	other := ""
	if a.Scope.Rendered {
		other = `; for the time at which something happened, take truncate(now, duration("1s")) and keep what was written` +
			"; for the current time, set with spec.requeueAfter how often to render it again"
	}
	a.report(at, diagnostic.CodeMovingTime, "%s must not change with every second, and this does, because it uses now", a.Scope.Place).
		WithHint(`compare now with a time, as in now > t, or take steps, as in truncate(now, duration("1h"))%s`, other)
}
