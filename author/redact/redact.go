// Package redact hides the values of Secrets in what people are shown. A rule may compute one into a ConfigMap, a status,
// an Event or the message of a condition.
//
//	values := redact.Values{}
//	values.Note(secret)                       // data: {token: dG9wc2VjcmV0}
//	values.Text("https://topsecret@db")       // https://(hidden)@db
//	values.Object(configMap)                  // data: {url: https://(hidden)@db}
//
// It finds values by their text, and by their forms in base64, JSON, YAML and URLs. Anything computed from a value in
// another way, such as a hash, is shown.
package redact

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/syntax"
)

// The texts that replace a value of a Secret: in general, and where it differs between two states of an object.
const (
	Hidden       = "(hidden)"
	HiddenBefore = "(hidden, before)"
	HiddenAfter  = "(hidden, after)"
)

// LeastPart is the least length of a value that is hidden inside other text. A shorter one is hidden only if it is the
// whole text.
const LeastPart = 6

// Values are values of Secrets, in all the forms in which texts may contain them; see formsOf.
type Values map[string]bool

// Note adds the values of an object, if it is a Secret.
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

// Text hides the values in a text. For many texts, use Masker.
func (v Values) Text(text string) string { return v.Masker()(text) }

// Masker returns a function that hides the values in a text.
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

// longestFirst lists the values to hide inside of text. A value that contains another one comes before it.
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

// JSON returns a JSON value with the values hidden in its texts. It does not change its argument.
func (v Values) JSON(value any) any {
	if len(v) == 0 {
		return value
	}
	return mapped(value, v.Masker())
}

// mapped returns a JSON value with each text replaced.
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

// Object returns the content of an object with the values hidden. The kind and the name stay, to identify the object.
func (v Values) Object(content map[string]any) map[string]any {
	if len(v) == 0 || content == nil {
		return content
	}
	return identified(v.JSON(content), content)
}

// identified gives the redacted content of an object its kind and its name.
func identified(redacted any, content map[string]any) map[string]any {
	out, _ := redacted.(map[string]any)
	keep(out, content, "apiVersion", "kind")
	metadata, _ := out["metadata"].(map[string]any)
	given, _ := content["metadata"].(map[string]any)
	keep(metadata, given, "name", "namespace")
	return out
}

// Replaced returns the content of an object before a change, with the values hidden in texts that the change removes or
// replaces. If v is nil, the values are not known, and such texts are hidden as a whole. Either content may be nil.
func (v Values) Replaced(before, after map[string]any) map[string]any {
	text := func(string) string { return Hidden }
	if v != nil {
		text = v.Masker()
	}
	return identified(replaced(before, after, text), before)
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
		out := slices.Clone(old)
		for i, item := range old {
			if slices.ContainsFunc(updated, func(other any) bool { return equality.Semantic.DeepEqual(other, item) }) {
				continue
			}
			var now any // nil beyond the end
			if i < len(updated) {
				now = updated[i]
			}
			out[i] = replaced(item, now, text)
		}
		return out
	case string:
		if after != any(old) {
			return text(old)
		}
	}
	return before
}

func keep(out, given map[string]any, names ...string) {
	for _, name := range names {
		if value, ok := given[name]; ok && out != nil {
			out[name] = value
		}
	}
}

// Objects returns two states of an object with the values hidden, and marks where hidden values differ. Either may be nil.
func (v Values) Objects(before, after map[string]any) (was, is map[string]any) {
	if len(v) == 0 {
		return before, after
	}
	was, is = v.Object(before), v.Object(after)
	mark(was, is, before, after)
	return was, is
}

// mark distinguishes texts that differ only in hidden values. before and after have the values.
func mark(was, is, before, after any) (any, any) {
	switch old := was.(type) {
	case map[string]any:
		updated, _ := is.(map[string]any)
		b, _ := before.(map[string]any)
		a, _ := after.(map[string]any)
		for name := range old {
			if _, ok := updated[name]; ok {
				old[name], updated[name] = mark(old[name], updated[name], b[name], a[name])
			}
		}
	case []any:
		updated, _ := is.([]any)
		b, _ := before.([]any)
		a, _ := after.([]any)
		for i := range min(len(old), len(updated)) {
			old[i], updated[i] = mark(old[i], updated[i], b[i], a[i])
		}
	case string:
		if is == was && before != after {
			return strings.ReplaceAll(old, Hidden, HiddenBefore), strings.ReplaceAll(old, Hidden, HiddenAfter)
		}
	}
	return was, is
}

// leastLine is the least length of a line of a value that is hidden by itself. A shorter one, such as a line of a
// configuration file, would match unrelated text.
const leastLine = 16

// formsOf lists the forms of a value that functions of rules and error messages make: base64, of the value alone and as
// part of another text (user:password), quoted as in JSON and in messages, escaped as in a URL, and its lines, which YAML
// indents.
func formsOf(text string) []string {
	if text == "" {
		return nil
	}
	forms := []string{text, quoted(text), strings.Trim(strconv.Quote(text), `"`), url.QueryEscape(text), url.PathEscape(text)}
	if escaped, err := json.Marshal(text); err == nil { // with <, > and & escaped
		forms = append(forms, strings.Trim(string(escaped), `"`))
	}
	forms = append(forms, base64Forms(text)...)
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= leastLine {
			forms = append(forms, line)
		}
	}
	return forms
}

// quoted is a text as a JSON string, without the quotes.
func quoted(text string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return text
	}
	escaped := strings.TrimSuffix(out.String(), "\n")
	return escaped[1 : len(escaped)-1]
}

// base64Forms lists the base64 of a text, and the characters that it makes in the base64 of a longer text. These depend on
// where the text begins there.
func base64Forms(text string) []string {
	var forms []string
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		forms = append(forms, encoding.EncodeToString([]byte(text)), encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(text)))
		for before := range 3 {
			encoded := encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(strings.Repeat("x", before) + text))
			first, last := (before*8+5)/6, (before+len(text))*8/6 // the characters without bits of other text
			if part := encoded[first:last]; len(part) >= LeastPart {
				forms = append(forms, part)
			}
		}
	}
	return forms
}

// Printable replaces characters that end a line, or that a terminal would obey. Anybody may have written the texts of
// objects.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
