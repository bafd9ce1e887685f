package fieldset

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Operation is one step of a JSON patch (RFC 6902). A remove has no Value; the API server ignores it there.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// ExactlyThis begins a patch that the API server refuses unless the object still has this UID and resourceVersion.
func ExactlyThis(obj *unstructured.Unstructured) []Operation {
	return []Operation{
		{Op: "replace", Path: "/metadata/uid", Value: obj.GetUID()},
		{Op: "replace", Path: "/metadata/resourceVersion", Value: obj.GetResourceVersion()},
	}
}

// StepInto returns the value that one element of a path leads to, and the element as a token of a JSON pointer.
func StepInto(at any, element fieldpath.PathElement) (next any, token string, ok bool) {
	if element.FieldName != nil {
		next, ok = childOf(at, element)
		return next, EscapePointer(*element.FieldName), ok
	}
	items, _ := at.([]any)
	i := indexIn(items, element)
	if i < 0 {
		return nil, "", false
	}
	return items[i], strconv.Itoa(i), true
}

// childOf returns the value that one element of a path leads to.
func childOf(at any, element fieldpath.PathElement) (child any, ok bool) {
	if element.FieldName != nil {
		fields, _ := at.(map[string]any)
		child, ok = fields[*element.FieldName]
		return child, ok
	}
	items, _ := at.([]any)
	if i := indexIn(items, element); i >= 0 {
		return items[i], true
	}
	return nil, false
}

// LookUp returns the value at a path.
func LookUp(at any, path fieldpath.Path) (found any, ok bool) {
	for _, element := range path {
		if at, ok = childOf(at, element); !ok {
			return nil, false
		}
	}
	return at, true
}

// indexIn returns the index of the item of a list that a key or a value selects, or -1.
func indexIn(items []any, element fieldpath.PathElement) int {
	switch {
	case element.Key != nil:
		return indexOfKeys(items, *element.Key)
	case element.Value != nil:
		return indexOf(items, *element.Value)
	default:
		return -1
	}
}

// indexOf returns the index of an item of a set, or -1.
func indexOf(items []any, v value.Value) int {
	return slices.IndexFunc(items, func(item any) bool { return value.Equals(value.NewValueInterface(item), v) })
}

// PointerTo returns the JSON pointer to a path of an object; false if the parent of the field does not exist.
func PointerTo(at any, path fieldpath.Path) (string, bool) {
	var b strings.Builder
	for i, element := range path {
		next, token, ok := StepInto(at, element)
		if !ok && (i < len(path)-1 || element.FieldName == nil) {
			return "", false
		}
		b.WriteString("/" + token)
		at = next
	}
	return b.String(), true
}

// SetAt sets the value at an existing path of an object, which it changes.
func SetAt(object map[string]any, path fieldpath.Path, v any) {
	last := path[len(path)-1]
	parent, _ := LookUp(object, path[:len(path)-1])
	switch parent := parent.(type) {
	case map[string]any:
		parent[*last.FieldName] = v
	case []any:
		parent[indexIn(parent, last)] = v
	}
}

// EscapePointer escapes a name as a token of a JSON pointer (RFC 6901).
func EscapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
