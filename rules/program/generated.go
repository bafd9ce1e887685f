package program

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/rules/program/template"
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
//
// A variable of the child can have such a value, for other fields to be computed from it:
//
//	variables: [{name: password, value: "${observed.secret.?data.?password.orValue(bytes(random(24)))}"}]
//	template:
//	  data:
//	    password: ${variables.password}
//	    url: ${bytes("postgres://app:" + string(variables.password) + "@db")}
//
// The template sets the field that the variable reads, so it is kept in the same way. Where the
// live object has another value than the variable, the template is rendered again with that.

// keepGenerated gives the generated fields of a rendered object the values that the live one has,
// or the one that it replaces, and what is computed from them. Those that it lacks are new: they are written to this version of
// it only.
func (e *Evaluation) keepGenerated(child *Child, it *item, object, live *unstructured.Unstructured) *template.Problem {
	if child.rendersAnother(object, live) {
		it.scope.own, it.scope.locals = &ownObject{child: child.ID, object: live.Object}, newMemos(&child.Body)
		again, p := e.renderObject(child, &it.scope)
		if p != nil {
			return p
		}
		object.Object = again.Object
	}
	for _, field := range child.Generated {
		value, ok := valueAt(live.Object, field.Path)
		if !ok && it.before != nil {
			it.fresh = append(it.fresh, field.Path)
		}
		if !ok {
			continue
		}
		if err := unstructured.SetNestedField(object.Object, runtime.DeepCopyJSONValue(value), field.Path...); err != nil {
			return template.Failure("the field cannot keep its value").Under("template." + strings.Join(field.Path, "."))
		}
	}
	return nil
}

// rendersAnother says whether a variable that is generated has another value than the live object:
// where that does not have the labels of the child, observed does not show it.
func (c *Child) rendersAnother(object, live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(c.Generated, func(field GeneratedField) bool {
		kept, ok := valueAt(live.Object, field.Path)
		rendered, _ := valueAt(object.Object, field.Path)
		return field.Variable && ok && !reflect.DeepEqual(rendered, kept)
	})
}

// valueAt is what an object has in a field; false where that is nothing.
func valueAt(object map[string]any, path []string) (any, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(object, path...)
	return value, err == nil && found && value != nil
}
