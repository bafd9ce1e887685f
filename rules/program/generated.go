package program

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// keepGenerated copies the generated fields of the live object, or of the one that is replaced, into a rendered object,
// and renders again what is computed from them. Fields that the live object lacks are new; they may be written only to
// this version of it.
func (e *Evaluation) keepGenerated(child *Child, it *item, object, live *unstructured.Unstructured) *Problem {
	if readsAnother(child.Generated, object, live) {
		it.scope = *e.scopeOf(&child.Body, it.scope.items, int(it.scope.index))
		it.scope.own = &ownObject{child: child.ID, object: live.Object}
		again, p := e.renderObject(child, &it.scope)
		if p != nil {
			return p
		}
		object.Object = again.Object
	}
	fresh, p := keepValues(child.Generated, object, live)
	if it.before != nil {
		it.fresh = fresh
	}
	return p
}

// A field can be generated once in a child that otherwise follows the rule:
//
//	data:
//	  password: ${observed.secret.?data.?password.orValue(bytes(random(24)))}
//
// random is the default of the very field that the template sets. So the value is kept as long as the object has it, whatever
// happens to the object's labels: before a write, the value of the live object of that name replaces the rendered one. A new
// value is written by a POST, or to exactly the version of the object that was read without the field.
//
// A variable of the child can have such a value, so that other fields can be computed from it. The template sets the field
// that the variable reads. If the live object has another value than the variable, the template is rendered again with that.

// GeneratedField is a field that is generated once.
type GeneratedField struct {
	Path []string
	// Variable is true if a variable of the child has the value.
	Variable bool
}

// keepValues copies the values of the generated fields from the live object into a rendered one. fresh are the paths that the
// live object lacks.
func keepValues(fields []GeneratedField, object, live *unstructured.Unstructured) (fresh [][]string, p *Problem) {
	for _, field := range fields {
		value, ok := valueAt(live.Object, field.Path)
		if !ok {
			fresh = append(fresh, field.Path)
			continue
		}
		if err := unstructured.SetNestedField(object.Object, runtime.DeepCopyJSONValue(value), field.Path...); err != nil {
			return fresh, Failure("the field cannot keep its value").Under("template." + strings.Join(field.Path, "."))
		}
	}
	return fresh, nil
}

// readsAnother reports whether a generated variable has another value than the live object. That happens if the live
// object lacks the child's labels, so that observed does not have it.
func readsAnother(fields []GeneratedField, object, live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(fields, func(field GeneratedField) bool {
		kept, ok := valueAt(live.Object, field.Path)
		has, _ := valueAt(object.Object, field.Path)
		return field.Variable && ok && !reflect.DeepEqual(has, kept)
	})
}

func valueAt(object map[string]any, path []string) (any, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(object, path...)
	return value, err == nil && found && value != nil
}
