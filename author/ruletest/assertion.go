package ruletest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/celenv"
)

// beforeName is the variable with the state before the step.
const beforeName = "before"

// names are the variables of assertions.
//
//nolint:gochecknoglobals // a constant in all but syntax
var names = celenv.Scope{"parent", "status", "children", "observed", "objects", "events", "created", "updated", "deleted", "recreated", celenv.NowName, beforeName}

// assert evaluates an expression that must be true. It returns "" if it is, and otherwise says why not. Values of
// Secrets are hidden.
func (r *runner) assert(ctx context.Context, text string) string {
	env, err := celenv.Shared()
	if err != nil {
		return err.Error()
	}
	expr, issues := env.Compile(strings.TrimSpace(text), names)
	if len(issues) > 0 {
		return fmt.Sprintf("%s: %s", text, issues[0].Message)
	}
	q := question{runner: r, ctx: ctx}
	asIs := func(o *unstructured.Unstructured) *unstructured.Unstructured { return o }
	if q.vars, err = r.variables(asIs); err == nil {
		q.others, err = r.variables(withoutSecrets)
	}
	if err == nil && r.before != nil {
		q.before, err = interpreter.NewActivation(r.world(r.before, asIs))
	}
	if err != nil {
		return err.Error()
	}
	switch holds, message := q.evaluate(expr); {
	case message != "":
		return fmt.Sprintf("%s: %s", text, message)
	case holds == true:
		return ""
	case holds != false:
		return text + " is no assertion: it gives neither true nor false"
	}
	return text + " is false" + q.sides(env, expr)
}

// question evaluates expressions in the state after a step.
type question struct {
	*runner
	ctx context.Context //nolint:containedctx // it does not outlive assert
	// vars are the variables of expressions. others are the same, with a placeholder for the values of Secrets.
	vars, others interpreter.Activation
	// before are the variables at the end of the previous step; nil in the first step.
	before interpreter.Activation
}

// sides shows the values of the two sides of a comparison, for a message.
func (q *question) sides(env *celenv.Env, expr *celenv.Expression) string {
	root := expr.Root()
	if root.Kind() != ast.CallKind || !celenv.IsComparison(root.AsCall().FunctionName()) {
		return ""
	}
	var parts []string
	for _, arg := range root.AsCall().Args() {
		if isWritten(arg) {
			continue
		}
		source := expr.Source(arg)
		side, issues := env.Compile(source, names)
		if len(issues) > 0 {
			continue
		}
		val, message := q.evaluate(side)
		if message != "" {
			continue
		}
		other, _ := q.evaluateWith(side, q.others)
		if val = q.secrets.JSON(q.common(val, other)); val == redact.Hidden {
			parts = append(parts, source+" comes from a Secret and is not shown"+q.sinceBefore(side))
			continue
		}
		if text := q.typed(side, shown(val)); text != source {
			parts = append(parts, source+" is "+text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// isWritten reports whether an expression is a literal, or a list or map of literals.
func isWritten(e ast.Expr) bool {
	for below := range celenv.All(e) {
		if kind := below.Kind(); kind != ast.LiteralKind && kind != ast.ListKind && kind != ast.MapKind {
			return false
		}
	}
	return true
}

// typed wraps the text of a value in the function that makes its type, for timestamps and durations.
func (q *question) typed(side *celenv.Expression, text string) string {
	switch val, _ := q.result(side, q.vars); val.(type) {
	case types.Timestamp:
		return "timestamp(" + text + ")"
	case types.Duration:
		return "duration(" + text + ")"
	default:
		return text
	}
}

// sinceBefore says whether a hidden value has changed in the step; empty if that is unknown.
func (q *question) sinceBefore(side *celenv.Expression) string {
	names, _ := side.Names()
	if q.before == nil || slices.ContainsFunc(names, func(n celenv.Name) bool { return n.Name == beforeName }) {
		return ""
	}
	now, _ := q.evaluateWith(side, q.vars)
	before, message := q.evaluateWith(side, q.before)
	switch {
	case message != "":
		return " (it had no value before the step)"
	case reflect.DeepEqual(now, before):
		return " (it is the same as before the step)"
	}
	return " (it is not the same as before the step)"
}

// evaluate returns the value of an expression as JSON, or a message that says why it has none.
func (q *question) evaluate(expr *celenv.Expression) (val any, message string) {
	val, message = q.evaluateWith(expr, q.vars)
	if message == "" {
		return val, ""
	}
	if _, other := q.evaluateWith(expr, q.others); other != message {
		return nil, "it fails, and why is not shown, because that depends on values of Secrets"
	}
	return nil, fmt.Sprint(q.secrets.JSON(message))
}

func (q *question) evaluateWith(expr *celenv.Expression, vars interpreter.Activation) (val any, message string) {
	out, err := q.result(expr, vars)
	if err == nil {
		val, err = celenv.ToJSON(out)
	}
	if err != nil {
		return nil, err.Error()
	}
	return val, ""
}

func (q *question) result(expr *celenv.Expression, vars interpreter.Activation) (ref.Val, error) {
	planned, issues := celenv.NewProgram(expr, celenv.Options{})
	if len(issues) > 0 {
		return nil, errors.New(issues[0].Message)
	}
	return planned.Eval(q.ctx, vars)
}

// variables are the variables of assertions. Each object is passed through as.
func (r *runner) variables(as func(*unstructured.Unstructured) *unstructured.Unstructured) (interpreter.Activation, error) {
	vars := r.world(r.state, as)
	vars[beforeName] = types.NullValue
	if r.before != nil {
		vars[beforeName] = celenv.Made(r.world(r.before, as))
	}
	vars["events"] = celenv.FromJSON(list(eventReasons(r.state)))
	vars["created"] = celenv.FromJSON(list(objectNames(r.state.Created)))
	vars["updated"] = celenv.FromJSON(list(objectNames(r.state.Updated)))
	vars["deleted"] = celenv.FromJSON(list(objectNames(r.state.Deleted)))
	vars["recreated"] = celenv.FromJSON(list(objectNames(r.state.Recreated)))
	return interpreter.NewActivation(vars)
}

// world has the variables for the objects and the time of a state. Each object is passed through as.
func (r *runner) world(state *state, as func(*unstructured.Unstructured) *unstructured.Unstructured) map[string]any {
	valueOf := func(object *unstructured.Unstructured) ref.Val { return r.valueOf(as(object)) }
	valuesOf := func(objects []*unstructured.Unstructured) ref.Val {
		out := make([]any, len(objects))
		for i, object := range objects {
			out[i] = valueOf(object)
		}
		return celenv.MadeList(out)
	}
	children, observed := map[string]any{}, map[string]any{}
	for _, child := range r.program.Children {
		objects := state.Children[child.ID]
		switch {
		case child.IsList:
			children[child.ID] = valuesOf(inOrder(state, child.ID))
			observed[child.ID] = valuesOf(objects)
		case len(objects) == 0:
			observed[child.ID] = nil
		default:
			children[child.ID] = valueOf(current(state, objects))
			observed[child.ID] = valueOf(newest(objects))
		}
	}
	var parent, status ref.Val = types.NullValue, types.NullValue
	if p := state.Parent; p != nil {
		parent = valueOf(p)
		schema, _ := r.kinds.Schema(p.GroupVersionKind()).At("status")
		status = celenv.Typed(p.Object["status"], schema)
	}
	return map[string]any{
		"parent": parent, "status": status, "children": celenv.Made(children), "observed": celenv.Made(observed),
		"objects": valuesOf(state.Objects), celenv.NowName: types.Timestamp{Time: state.Now},
	}
}

// valueOf is an object as rules see it: fields with format: byte are bytes, and fields with format: date-time
// timestamps.
func (r *runner) valueOf(object *unstructured.Unstructured) ref.Val {
	return celenv.Typed(object.Object, r.kinds.Schema(object.GroupVersionKind()))
}

// current is the object that a child renders now. The child may have another one, under a previous name.
func current(state *state, objects []*unstructured.Unstructured) *unstructured.Unstructured {
	if state.Preview != nil {
		for _, now := range state.Preview.Rendered() {
			if i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return identity.Of(o) == identity.Of(now) }); i >= 0 {
				return objects[i]
			}
		}
	}
	return objects[0]
}

// inOrder lists the objects that a child renders now, in the order of its items, as rules see them. If the rule is no
// longer evaluated, it lists all of the child's objects.
func inOrder(state *state, id string) []*unstructured.Unstructured {
	items, known := state.items(id)
	if !known {
		return state.Children[id]
	}
	var found []*unstructured.Unstructured
	for _, item := range items {
		found = append(found, item.object)
	}
	return found
}

// newest is the object that "observed" shows if a child has several, because its name has changed.
func newest(objects []*unstructured.Unstructured) *unstructured.Unstructured {
	return slices.MaxFunc(objects, func(a, b *unstructured.Unstructured) int {
		at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
		return cmp.Or(at.Compare(bt.Time), strings.Compare(b.GetName(), a.GetName()))
	})
}

func list(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}
