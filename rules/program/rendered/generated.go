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

// GeneratedField is a field that is generated once.
type GeneratedField struct {
	Path []string
	// Variable is true if a variable of the child has the value.
	Variable bool
}

// Keep gives the generated fields of an object the values that the live one has. fresh are the paths of those that it lacks.
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

// ReadsAnother says whether a variable that is generated has another value than the live object:
// where that does not have the labels of the child, observed does not show it.
func ReadsAnother(fields []GeneratedField, object, live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(fields, func(field GeneratedField) bool {
		kept, ok := ValueAt(live.Object, field.Path)
		has, _ := ValueAt(object.Object, field.Path)
		return field.Variable && ok && !reflect.DeepEqual(has, kept)
	})
}

// ValueAt is what an object has in a field; false where that is nothing.
func ValueAt(object map[string]any, path []string) (any, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(object, path...)
	return value, err == nil && found && value != nil
}
