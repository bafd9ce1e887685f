package redact

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/syntax"
)

// What stands in the place of a value of a Secret: alone, and where it differs between two states of an object.
const (
	Hidden       = "(hidden)"
	HiddenBefore = "(hidden, before)"
	HiddenAfter  = "(hidden, after)"
)

// LeastPart is from how many characters on a value is also looked for inside other text.
const LeastPart = 6

// Values are the values that Secrets hold, in the forms in which texts may have them; see formsOf.
type Values map[string]bool

// Note takes in what an object holds, if it is a Secret.
func (v Values) Note(object *unstructured.Unstructured) {
	if object == nil || !syntax.IsSecret(object.GroupVersionKind()) {
		return
	}
	data, _ := object.Object["data"].(map[string]any)
	for _, value := range data {
		encoded, _ := value.(string)
		if text, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			v.add(string(text))
		}
	}
	texts, _ := object.Object["stringData"].(map[string]any)
	for _, value := range texts {
		text, _ := value.(string)
		v.add(text)
	}
}

func (v Values) add(text string) {
	for _, form := range formsOf(text) {
		if form != "" {
			v[form] = true
		}
	}
}

// Text is text without the values in it. Who has many texts asks Masker once.
func (v Values) Text(text string) string { return v.Masker()(text) }

// Masker gives texts without the values in them.
func (v Values) Masker() func(text string) string {
	parts := v.longestFirst()
	return func(text string) string {
		if v[text] {
			return Hidden
		}
		for _, value := range parts {
			text = strings.ReplaceAll(text, value, Hidden)
		}
		return text
	}
}

// longestFirst are the values that are looked for inside of text. A value that has another one in it comes before that.
func (v Values) longestFirst() []string {
	parts := slices.DeleteFunc(slices.Collect(maps.Keys(v)), func(value string) bool { return len(value) < LeastPart })
	slices.SortFunc(parts, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return parts
}

// JSON is a value of JSON without the values in its texts. What is given stays as it is.
func (v Values) JSON(value any) any {
	if len(v) == 0 {
		return value
	}
	return mapped(value, v.Masker())
}

// mapped is a value of JSON with other texts.
func mapped(value any, text func(string) string) any {
	switch value := value.(type) {
	case string:
		return text(value)
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = mapped(item, text)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, field := range value {
			out[name] = mapped(field, text)
		}
		return out
	default:
		return value
	}
}

// Object is the content of an object without the values in it. Its kind and its name stay: nobody would know which object it is.
func (v Values) Object(content map[string]any) map[string]any {
	if len(v) == 0 || content == nil {
		return content
	}
	out, _ := v.JSON(content).(map[string]any)
	keep(out, content, "apiVersion", "kind")
	metadata, _ := out["metadata"].(map[string]any)
	given, _ := content["metadata"].(map[string]any)
	keep(metadata, given, "name", "namespace")
	return out
}

// Replaced is the content of an object before a change, without the values in the texts that the change removes or replaces. A nil v
// stands for values that nobody knows: such texts are hidden as a whole. Either content may be nil.
func (v Values) Replaced(before, after map[string]any) map[string]any {
	text := func(string) string { return Hidden }
	if v != nil {
		text = v.Masker()
	}
	out, _ := replaced(before, after, text).(map[string]any)
	keep(out, before, "apiVersion", "kind")
	metadata, _ := out["metadata"].(map[string]any)
	given, _ := before["metadata"].(map[string]any)
	keep(metadata, given, "name", "namespace")
	return out
}

func replaced(before, after any, text func(string) string) any {
	switch old := before.(type) {
	case map[string]any:
		updated, ok := after.(map[string]any)
		if !ok {
			return mapped(before, text)
		}
		out := make(map[string]any, len(old))
		for name, value := range old {
			out[name] = replaced(value, updated[name], text)
		}
		return out
	case []any:
		updated, _ := after.([]any)
		out := make([]any, len(old))
		for i, item := range old {
			if slices.ContainsFunc(updated, func(other any) bool { return equality.Semantic.DeepEqual(other, item) }) {
				out[i] = item
				continue
			}
			out[i] = replaced(item, itemAt(updated, i), text)
		}
		return out
	case string:
		if after != any(old) {
			return text(old)
		}
	}
	return before
}

// itemAt is an item of a list; nil beyond its end.
func itemAt(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func keep(out, given map[string]any, names ...string) {
	for _, name := range names {
		if value, ok := given[name]; ok && out != nil {
			out[name] = value
		}
	}
}

// Objects are the contents of two states of an object, so that one still sees where they differ. Either may be nil.
func (v Values) Objects(before, after map[string]any) (was, is map[string]any) {
	if len(v) == 0 {
		return before, after
	}
	was, is = v.Object(before), v.Object(after)
	mark(was, is, before, after)
	return was, is
}

// mark tells texts apart that differ, and look the same without the values in them.
func mark(was, is, before, after map[string]any) {
	for name, old := range was {
		updated, there := is[name]
		if !there {
			continue
		}
		was[name], is[name] = marked(old, updated, before[name], after[name])
	}
}

func marked(old, updated, before, after any) (was, is any) {
	switch old := old.(type) {
	case map[string]any:
		if updated, ok := updated.(map[string]any); ok {
			b, _ := before.(map[string]any)
			a, _ := after.(map[string]any)
			mark(old, updated, b, a)
		}
	case []any:
		updated, ok := updated.([]any)
		b, _ := before.([]any)
		a, _ := after.([]any)
		for i := 0; ok && i < min(len(old), len(updated)); i++ {
			old[i], updated[i] = marked(old[i], updated[i], b[i], a[i])
		}
	case string:
		if updated == any(old) && before != after {
			return strings.ReplaceAll(old, Hidden, HiddenBefore), strings.ReplaceAll(old, Hidden, HiddenAfter)
		}
	}
	return old, updated
}
