package rendered

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
// random is the default of the very field that the template sets. So the value is kept as long as the object has it, whatever
// happens to the object's labels: before a write, the value of the live object of that name replaces the rendered one. A new
// value is written by a POST, which does not change an existing object, or to exactly the version of the object that was read
// without the field.
//
// A variable of the child can have such a value, so that other fields can be computed from it:
//
//	variables: [{name: password, value: "${observed.secret.?data.?password.orValue(bytes(random(24)))}"}]
//	template:
//	  data:
//	    password: ${variables.password}
//	    url: ${bytes("postgres://app:" + string(variables.password) + "@db")}
//
// The template sets the field that the variable reads, so the value is kept in the same way. If the live object has another
// value than the variable, the template is rendered again with that value.

// GeneratedField is a field that is generated once.
type GeneratedField struct {
	Path []string
	// Variable is true if a variable of the child has the value.
	Variable bool
}

// Keep copies the values of the generated fields from the live object into a rendered one. fresh are the paths that the
// live object lacks.
func Keep(fields []GeneratedField, object, live *unstructured.Unstructured) (fresh [][]string, p *template.Problem) {
	for _, field := range fields {
		value, ok := ValueAt(live.Object, field.Path)
		if !ok {
			fresh = append(fresh, field.Path)
			continue
		}
		if err := unstructured.SetNestedField(object.Object, runtime.DeepCopyJSONValue(value), field.Path...); err != nil {
			return fresh, template.Failure("the field cannot keep its value").Under("template." + strings.Join(field.Path, "."))
		}
	}
	return fresh, nil
}

// ReadsAnother reports whether a generated variable has another value than the live object. That happens if the live
// object lacks the child's labels, so that observed does not have it.
func ReadsAnother(fields []GeneratedField, object, live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(fields, func(field GeneratedField) bool {
		kept, ok := ValueAt(live.Object, field.Path)
		has, _ := ValueAt(object.Object, field.Path)
		return field.Variable && ok && !reflect.DeepEqual(has, kept)
	})
}

// ValueAt is the value of a field of an object; false if the field is missing or null.
func ValueAt(object map[string]any, path []string) (any, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(object, path...)
	return value, err == nil && found && value != nil
}
