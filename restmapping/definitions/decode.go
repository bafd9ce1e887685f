package definitions

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kjson "sigs.k8s.io/json"
)

// decode decodes a definition as the API server does with fieldValidation=Strict. ok is false if a value has the wrong
// type: then crd is nil.
func decode(object map[string]any) (crd *apiextensionsv1.CustomResourceDefinition, problems []Problem, ok bool) {
	crd = &apiextensionsv1.CustomResourceDefinition{}
	strict, err := kjson.UnmarshalStrict(encode(object), crd)
	if err != nil {
		path := misfit(object, func(value any) any { return value })
		return nil, []Problem{{Path: path, Message: pathText(object, path) + ": " + typeText(err)}}, false
	}
	for _, err := range strict {
		if wrong, ok := errors.AsType[kjson.FieldError](err); ok {
			problems = append(problems, Problem{Path: resolve(object, wrong.FieldPath()), Name: true, Message: err.Error()})
		}
	}
	return crd, problems, true
}

// typeText says which type a value must have, and which it has.
func typeText(err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	want := "an object"
	switch wrong.Type.Kind() {
	case reflect.Bool:
		want = "true or false"
	case reflect.Int32, reflect.Int64:
		want = "an integer"
	case reflect.Float64:
		want = "a number"
	case reflect.String:
		want = "a string"
	case reflect.Slice:
		want = "a list"
	}
	return fmt.Sprintf("must be %s, not %s", want, wrong.Value)
}

// misfit returns the path to the first value that cannot be decoded. The decoder's error does not name it below lists,
// maps and nested schemas. So misfit decodes each part alone, and searches the part that fails. wrap puts a part in its
// place in the definition.
func misfit(value any, wrap func(any) any) []string {
	refused := func(object any) bool {
		return kjson.UnmarshalCaseSensitivePreserveInts(encode(object), &apiextensionsv1.CustomResourceDefinition{}) != nil
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			alone := func(part any) any { return wrap(map[string]any{name: part}) }
			if refused(alone(v[name])) {
				return append([]string{name}, misfit(v[name], alone)...)
			}
		}
	case []any:
		alone := func(part any) any { return wrap([]any{part}) }
		for i, item := range v {
			if refused(alone(item)) {
				return append([]string{strconv.Itoa(i)}, misfit(item, alone)...)
			}
		}
	}
	return nil
}
