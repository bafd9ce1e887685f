package definitions

import (
	"strconv"
	"strings"
)

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
