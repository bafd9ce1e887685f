package watch

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// fields decodes the object's text; with head, only apiVersion, kind and metadata. The text was validated when it arrived.
// Strings share the memory of the text, or of its copy if it is packed. Clone a string to keep it longer than the tree.
func (o *Object) fields(head bool) map[string]any {
	p := parser{text: o.content.text()}
	fields := make(map[string]any, 5)
	members(p.text, skipSpace(p.text, 0), func(start, end, at int) int {
		name := p.key(start, end)
		switch {
		case name == "metadata" && p.text[at] == '{':
			metadata := make(map[string]any, 12)
			fields[name] = metadata
			return members(p.text, at, func(start, end, at int) int { return p.metadata(o, metadata, start, end, at) })
		case head && name != "apiVersion" && name != "kind":
			return skip(p.text, at, 1)
		}
		var after int
		fields[name], after = p.value(at)
		return after
	})
	if t := o.types(); fields["kind"] == nil {
		fields["apiVersion"], fields["kind"] = t.apiVersion, t.kind
	}
	return fields
}

// parser reads valid JSON.
type parser struct{ text string }

// metadata reads one field of the metadata of o.
func (p parser) metadata(o *Object, metadata map[string]any, start, end, at int) (after int) {
	name := p.key(start, end)
	if name == "managedFields" && p.text[at] == '[' {
		entries := []any{}
		after = items(p.text, at, func(at int) int {
			entry := make(map[string]any, 7)
			entries = append(entries, entry)
			return members(p.text, at, func(start, end, at int) int {
				name := p.key(start, end)
				if name == "fieldsV1" && p.text[at] == '{' { // decodeInPlace left it there
					after := skip(p.text, at, 4)
					entry[name] = p.text[at:after]
					return after
				}
				entry[name], at = p.value(at)
				if index, ok := entry[name].(int64); ok && name == "fieldsV1" {
					entry[name] = o.paths[index].text()
				}
				return at
			})
		})
		metadata[name] = entries
		return after
	}
	value, after := p.value(at)
	if _, ok := value.(string); ok {
		switch name {
		case "namespace":
			value = o.namespace
		case "name":
			value = o.name
		case "uid":
			value = o.uid
		case "resourceVersion":
			value = o.version
		}
	}
	metadata[name] = value
	return after
}

// value reads the value at i and returns the index after it.
func (p parser) value(i int) (v any, after int) {
	switch p.text[i] {
	case '{':
		fields := map[string]any{}
		after = members(p.text, i, func(start, end, at int) (next int) {
			fields[p.key(start, end)], next = p.value(at)
			return next
		})
		return fields, after
	case '[':
		list := []any{}
		after = items(p.text, i, func(at int) int {
			item, next := p.value(at)
			list = append(list, item)
			return next
		})
		return list, after
	case '"':
		after = skipString(p.text, i)
		return unquote(p.text[i:after]), after
	case 't':
		return true, i + len("true")
	case 'f':
		return false, i + len("false")
	case 'n':
		return nil, i + len("null")
	default:
		after = skipNumber(p.text, i)
		v, _ = number(p.text[i:after])
		return v, after
	}
}

func (p parser) key(start, end int) string { return unquote(p.text[start-1 : end+1]) }

// unquote is the string that a valid JSON string stands for.
func unquote(quoted string) string {
	inner := quoted[1 : len(quoted)-1]
	if !utf8.ValidString(inner) {
		return unquoteSlowly(quoted)
	}
	escape := strings.IndexByte(inner, '\\')
	if escape < 0 {
		return inner
	}
	var b strings.Builder
	b.Grow(len(inner))
	for ; escape >= 0; escape = strings.IndexByte(inner, '\\') {
		b.WriteString(inner[:escape])
		at := strings.IndexByte(escapes, inner[escape+1])
		if at < 0 {
			return unquoteSlowly(quoted) // \u
		}
		b.WriteByte(escaped[at])
		inner = inner[escape+2:]
	}
	b.WriteString(inner)
	return b.String()
}

// escapes are what may stand after a backslash, but for u, and escaped what it stands for then.
const (
	escapes = `"\/bfnrt`
	escaped = "\"\\/\b\f\n\r\t"
)

func unquoteSlowly(quoted string) string {
	var s string
	if json.Unmarshal([]byte(quoted), &s) != nil {
		return quoted[1 : len(quoted)-1] // not of a string that was found to be valid
	}
	return s
}
