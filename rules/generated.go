package rules

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/rules/celenv"
)

// A field can be generated once in a child that otherwise follows the rule:
//
//	data:
//	  password: ${observed.secret.?data.?password.orValue(bytes(random(24)))}
//
// random is the default of the very field that it stands in. So the value is kept as long as the
// object has it, whatever becomes of its marks: before a value is written, the live object of that
// name is asked, and what it has in the field comes before what was rendered. A new value is written
// by a POST, which does not touch an object that exists, or to exactly the version of the object
// that was seen without the field.

// generatedPath is the path of a field of the child's own observed object of which the expression
// is the value or a default: observed.<id>.?data.?password.orValue(…). nil for every other form.
func generatedPath(e ast.Expr, id string) []string {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "orValue" || !e.AsCall().IsMemberFunction() {
		return nil
	}
	var path []string
	for at := e.AsCall().Target(); ; {
		operand, optional := stepFrom(at)
		name, ok := stepName(at)
		if operand == nil || !ok {
			return nil
		}
		path = append(path, name)
		if isObserved(operand, id) {
			if !optional {
				return nil // without the object the expression waits, and there is never one
			}
			slices.Reverse(path)
			return path
		}
		at = operand
	}
}

// stepName is the field that a step reads; false where that is computed, or only asked for.
func stepName(e ast.Expr) (string, bool) {
	if e.Kind() == ast.SelectKind {
		return e.AsSelect().FieldName(), !e.AsSelect().IsTestOnly()
	}
	if e.Kind() == ast.CallKind && isStep(e.AsCall().FunctionName()) {
		return literalText(e.AsCall().Args()[1])
	}
	return "", false
}

// isObserved reports whether an expression is observed.<id>.
func isObserved(e ast.Expr, id string) bool {
	if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() || e.AsSelect().FieldName() != id {
		return false
	}
	root := e.AsSelect().Operand()
	return root.Kind() == ast.IdentKind && root.AsIdent() == rootObserved
}

// generatesHere says whether random may be called in the expression: as the default of a field of
// the child's own observed object. Which field that is, checkGenerated looks at.
func (a *analysis) generatesHere() bool {
	return a.scope.own != "" && generatedPath(a.expr.Root(), a.scope.own) != nil
}

// checkGenerated notes the fields of a template that are generated once, and reports those where
// the value would not be kept, because it is the default of another field.
func (c *compiler) checkGenerated(spec *childSpec, child *compiledChild, u *uses) {
	places := map[*node]int{}
	var walk func(n *node, path []string)
	walk = func(n *node, path []string) {
		for _, f := range n.fields {
			if !hasExpression(f.name) {
				walk(f.value, append(slices.Clip(path), f.name))
			}
		}
		x := c.results[n].x
		if x != nil && slices.Contains(u.generated, n) && slices.Equal(generatedPath(x.expr.Root(), spec.id), path) {
			places[n]++
			child.generated = append(child.generated, path)
		}
	}
	walk(spec.template, nil)
	for _, n := range u.generated {
		if places[n] > 0 && isSecret(child.GVK) && slices.ContainsFunc(child.generated, func(path []string) bool { return path[0] == "stringData" }) {
			c.report(c.rule.src.at(n.yaml), CodeOutOfScope, "a Secret's stringData is never read back, so random would give another value at each evaluation").
				hint("generate it in data, as in data: {password: \"%s\"}", c.generatedExample(spec.id))
			continue
		}
		if places[n] == 0 || len(c.results[n].others) > 0 {
			c.report(c.rule.src.at(n.yaml), CodeOutOfScope, "random gives another value at each evaluation, and this is not the field of %s.%s that it is the default of", rootObserved, spec.id).
				hint("let the whole value be that of its own field, as in data: {password: \"%s\"}", c.generatedExample(spec.id))
		}
	}
}

// generatedExample is how a field of a child is generated once.
func (c *compiler) generatedExample(id string) string {
	value := celenv.RandomName + "(24)"
	if isSecret(templateGVK(c.children[id].template)) {
		value = "bytes(" + value + ")"
	}
	return "${" + rootObserved + "." + id + ".?data.?password.orValue(" + value + ")}"
}

// keepGenerated gives the generated fields of a rendered object the values that the live one has.
// Those that it lacks are new: they are written to this version of it only.
func (c *compiledChild) keepGenerated(it *item, object, live *unstructured.Unstructured) *problem {
	for _, path := range c.generated {
		value, there, err := unstructured.NestedFieldNoCopy(live.Object, path...)
		if err != nil || !there || value == nil {
			it.fresh = append(it.fresh, path)
			continue
		}
		if err := unstructured.SetNestedField(object.Object, runtime.DeepCopyJSONValue(value), path...); err != nil {
			return failure("the field cannot keep its value").under("template." + strings.Join(path, "."))
		}
	}
	return nil
}
