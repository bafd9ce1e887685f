package definitions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// Problem is a reason why the API server refuses a definition.
type Problem struct {
	// Path leads to the problem: names of fields, keys of maps, and indices of lists, from 0. For a missing field, it
	// ends at the last existing value.
	Path []string
	// Name is true if the last name of the path is wrong, rather than its value.
	Name bool
	// Offset is the offset of the problem, in bytes, in an expression at Path.
	Offset int
	// Message begins with the path in the API server's form.
	Message string
}

// Check returns why the API server would refuse to create a CustomResourceDefinition; nil if it would not. ctx only
// reaches the API server's own code. The object is not changed.
func Check(ctx context.Context, crd *unstructured.Unstructured) []Problem {
	if apiVersion := crd.GetAPIVersion(); apiVersion != apiextensionsv1.SchemeGroupVersion.String() {
		return []Problem{{Path: []string{"apiVersion"}, Message: fmt.Sprintf(
			"apiVersion: the API server has CustomResourceDefinitions in %s only", apiextensionsv1.SchemeGroupVersion)}}
	}
	decoded, problems, ok := decode(crd.Object)
	if !ok {
		return problems
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(decoded)
	created := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(decoded, created, nil); err != nil {
		return append(problems, Problem{Message: err.Error()})
	}
	prepare(created)
	for _, err := range validation.ValidateCustomResourceDefinition(ctx, created) {
		if !strings.HasPrefix(err.Field, "status") { // we set the status, in prepare
			problems = append(problems, problemOf(crd.Object, err))
		}
	}
	return problems
}

// prepare does what the API server does between decoding and validation, in PrepareForCreate of
// k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition.
func prepare(crd *apiextensions.CustomResourceDefinition) {
	crd.Status = apiextensions.CustomResourceDefinitionStatus{}
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			crd.Status.StoredVersions = []string{version.Name}
			return
		}
	}
}

func problemOf(object map[string]any, err *field.Error) Problem {
	path := writtenPath(err.Field)
	p := Problem{Path: resolve(object, path)}
	text := err.ErrorBody()
	if !isShort(err.BadValue) || valueAt(object, p.Path) != err.BadValue {
		text = strings.TrimSuffix(err.Type.String()+": "+strings.TrimPrefix(strings.TrimSpace(err.Detail), "in body "), ": ")
	}
	if message, line, column, ok := compilerMessage(err.Detail); ok {
		text = message
		p.Offset = offsetOf(valueAt(object, p.Path), line, column)
	}
	p.Message = path + ": " + strings.Join(strings.Fields(text), " ")
	return p
}

func isShort(value any) bool {
	text, ok := value.(string)
	return ok && len(text) <= 60 && !strings.Contains(text, "\n")
}

// writtenPath converts a path of the API server's internal version to v1. The internal version has some fields of a
// version at the top.
func writtenPath(path string) string {
	path = strings.Replace(path, ".JSONPath", ".jsonPath", 1)
	for internal, v1 := range map[string]string{
		"spec.version":                             "spec.versions[0].name",
		"spec.validation":                          "spec.versions[0].schema",
		"spec.subresources":                        "spec.versions[0].subresources",
		"spec.additionalPrinterColumns":            "spec.versions[0].additionalPrinterColumns",
		"spec.selectableFields":                    "spec.versions[0].selectableFields",
		"spec.conversion.webhookClientConfig":      "spec.conversion.webhook.clientConfig",
		"spec.conversion.conversionReviewVersions": "spec.conversion.webhook.conversionReviewVersions",
	} {
		if rest, ok := strings.CutPrefix(path, internal); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return v1 + rest
		}
	}
	return path
}

// compiled matches an error of the CEL compiler.
var compiled = regexp.MustCompile(`(?m)^(.*)ERROR: <input>:(\d+):(\d+): (.*)$`)

// compilerMessage separates the position in an expression from a message. It drops the excerpt of the expression.
func compilerMessage(detail string) (message string, line, column int, ok bool) {
	found := compiled.FindAllStringSubmatch(detail, -1)
	if len(found) == 0 {
		return "", 0, 0, false
	}
	line, _ = strconv.Atoi(found[0][2])
	column, _ = strconv.Atoi(found[0][3])
	messages := make([]string, len(found))
	for i, match := range found {
		messages[i] = match[4]
	}
	return found[0][1] + strings.Join(slices.Compact(messages), "; "), line, column, true
}

// offsetOf converts a line and a column, in characters and both from 1, to an offset in bytes.
func offsetOf(value any, line, column int) int {
	text, _ := value.(string)
	offset := 0
	for ; line > 1; line-- {
		end := strings.IndexByte(text[offset:], '\n')
		if end < 0 {
			return 0
		}
		offset += end + 1
	}
	for i := range text[offset:] {
		if column--; column == 0 {
			return offset + i
		}
	}
	return 0
}

// encode encodes a value as JSON. Everything that YAML can hold, JSON can.
func encode(object any) []byte {
	text, err := json.Marshal(object)
	if err != nil {
		return []byte("null")
	}
	return text
}

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

// resolve splits a path in the API server's form, such as spec.versions[0].schema.openAPIV3Schema.properties[a.b].
// Names may contain dots, so the object decides where each one ends. The result is the part of the path that the object
// has.
func resolve(object any, path string) []string {
	name, rest, ok := next(object, strings.TrimPrefix(path, "."))
	if !ok {
		return nil
	}
	return append([]string{name}, resolve(member(object, name), rest)...)
}

// next returns the first step of a path that the value has: the longest name that matches.
func next(value any, path string) (name, rest string, ok bool) {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			for _, written := range []string{key, "[" + key + "]"} {
				after, fits := strings.CutPrefix(path, written)
				if fits && (after == "" || after[0] == '.' || after[0] == '[') && (!ok || len(key) > len(name)) {
					name, rest, ok = key, after, true
				}
			}
		}
	case []any:
		if !strings.HasPrefix(path, "[") {
			return "", "", false
		}
		index, after, closed := strings.Cut(path[1:], "]")
		i, err := strconv.Atoi(index)
		return index, after, closed && err == nil && i >= 0 && i < len(v)
	}
	return name, rest, ok
}

// member returns the value at a name or an index; nil if there is none.
func member(value any, name string) any {
	switch v := value.(type) {
	case map[string]any:
		return v[name]
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

func valueAt(object any, path []string) any {
	for _, name := range path {
		object = member(object, name)
	}
	return object
}

func pathText(object any, path []string) string {
	var b strings.Builder
	for i, name := range path {
		_, inList := object.([]any)
		switch {
		case inList, strings.ContainsAny(name, ".[]"):
			b.WriteString("[" + name + "]")
		case i > 0:
			b.WriteString("." + name)
		default:
			b.WriteString(name)
		}
		object = member(object, name)
	}
	return b.String()
}
