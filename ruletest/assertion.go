package ruletest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/celenv/value"
	"kanon.dev/kanon/rules/program"
)

// names are those that an assertion can read.
//
//nolint:gochecknoglobals // a constant in all but syntax
var names = celenv.Scope{"parent", "status", "children", "observed", "objects", "events", "deleted", "recreated", celenv.NowName}

// assert evaluates an expression that must be true, and says why it is not; empty if it is.
func (r *runner) assert(ctx context.Context, text string) string {
	env, err := celenv.Shared()
	if err != nil {
		return err.Error()
	}
	expr, issues := env.Compile(strings.TrimSpace(text), names)
	if len(issues) > 0 {
		return fmt.Sprintf("%s: %s", text, issues[0].Message)
	}
	vars, err := r.variables()
	if err != nil {
		return err.Error()
	}
	switch holds, message := evaluate(ctx, expr, vars); {
	case message != "":
		return fmt.Sprintf("%s: %s", text, message)
	case holds == types.True:
		return ""
	case holds != types.False:
		return text + " is no assertion: it gives neither true nor false"
	}
	return text + " is false" + r.sides(ctx, env, expr, vars)
}

// readsSecrets tells whether an expression may read what a Secret keeps.
func (r *runner) readsSecrets(source string) bool {
	isSecret := func(gvk schema.GroupVersionKind) bool { return gvk.Group == "" && gvk.Kind == "Secret" }
	if strings.Contains(source, "objects") || isSecret(r.program.Parent.GVK) && strings.Contains(source, "parent") {
		return true
	}
	return slices.ContainsFunc(r.program.Children, func(c *program.Child) bool { return isSecret(c.GVK) && strings.Contains(source, c.ID) })
}

// sides says what the two sides of a comparison are. What may come from a Secret is not shown.
func (r *runner) sides(ctx context.Context, env *celenv.Env, expr *celenv.Expression, vars interpreter.Activation) string {
	root := expr.Root()
	if root.Kind() != ast.CallKind || !run.IsComparison(root.AsCall().FunctionName()) {
		return ""
	}
	var parts []string
	for _, arg := range root.AsCall().Args() {
		if arg.Kind() == ast.LiteralKind {
			continue
		}
		source := expr.Source(arg)
		if r.readsSecrets(source) {
			parts = append(parts, source+" is something else, and values of Secrets are not shown")
			continue
		}
		if side, issues := env.Compile(source, names); len(issues) == 0 {
			if val, message := evaluate(ctx, side, vars); message == "" {
				parts = append(parts, fmt.Sprintf("%s is %s", source, textOf(val)))
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func evaluate(ctx context.Context, expr *celenv.Expression, vars interpreter.Activation) (val any, message string) {
	planned, issues := run.New(expr, run.Options{})
	if len(issues) > 0 {
		return nil, issues[0].Message
	}
	out, err := planned.Eval(ctx, vars)
	if err != nil {
		return nil, err.Error()
	}
	return out, ""
}

func textOf(val any) string {
	if v, ok := val.(types.Timestamp); ok {
		return v.Format(time.RFC3339)
	}
	if v, ok := val.(interface{ Value() any }); ok {
		return shown(v.Value())
	}
	return fmt.Sprint(val)
}

// variables are what an assertion reads.
func (r *runner) variables() (interpreter.Activation, error) {
	children, observed := map[string]any{}, map[string]any{}
	for _, child := range r.program.Children {
		objects := r.state.Children[child.ID]
		switch {
		case child.IsList:
			children[child.ID] = r.valuesOf(objects)
			observed[child.ID] = children[child.ID]
		case len(objects) == 0:
			observed[child.ID] = nil
		default:
			children[child.ID] = r.valueOf(r.rendered(objects))
			observed[child.ID] = r.valueOf(newest(objects))
		}
	}
	var parent, status ref.Val = types.NullValue, types.NullValue
	if p := r.state.Parent; p != nil {
		parent = r.valueOf(p)
		schema, _ := r.kinds.Schema(p.GroupVersionKind()).At("status")
		status = value.Encoded(p.Object["status"], schema, nil)
	}
	return interpreter.NewActivation(map[string]any{
		"parent": parent, "status": status, "children": value.FromJSON(children), "observed": value.FromJSON(observed),
		"objects":      value.FromJSON(r.valuesOf(r.state.Objects)),
		"events":       value.FromJSON(list(r.eventReasons())),
		"deleted":      value.FromJSON(list(objectNames(r.state.Deleted))),
		"recreated":    value.FromJSON(list(objectNames(r.state.Recreated))),
		celenv.NowName: types.Timestamp{Time: r.state.Now},
	})
}

// valueOf is an object as rules read it: a field with format: byte is bytes.
func (r *runner) valueOf(object *unstructured.Unstructured) ref.Val {
	return value.Encoded(object.Object, r.kinds.Schema(object.GroupVersionKind()), nil)
}

func (r *runner) valuesOf(objects []*unstructured.Unstructured) []any {
	out := make([]any, len(objects))
	for i, object := range objects {
		out[i] = r.valueOf(object)
	}
	return out
}

// rendered is the object of a child that the rule renders now; it may have another one besides, of an earlier name.
func (r *runner) rendered(objects []*unstructured.Unstructured) *unstructured.Unstructured {
	if r.state.Preview != nil {
		for _, now := range r.state.Preview.Rendered() {
			if i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return identity.Of(o) == identity.Of(now) }); i >= 0 {
				return objects[i]
			}
		}
	}
	return objects[0]
}

// newest is the object that observed is if a child has several, because its name has changed.
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
