package fieldset

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/rules/syntax"
)

// PathText returns a path for messages: as in managedFields, without the leading dot.
func PathText(path fieldpath.Path) string {
	text := path.String()
	if len(text) > 0 && text[0] == '.' {
		return text[1:]
	}
	return text
}

// Path is the path from an object to a field or to items of a list. It includes everything below.
type Path = syntax.IgnorePath

// Step is one step of a Path.
type Step = syntax.IgnoreStep

// PathOf returns the path that leads through the fields of these names.
func PathOf(names []string) Path {
	path := make(Path, len(names))
	for i, name := range names {
		path[i] = Step{Field: name}
	}
	return path
}

// textOfPath returns a path for messages. Unlike in the text of a rule, nothing is in quotes.
func textOfPath(path Path) string {
	var b strings.Builder
	for i, step := range path {
		switch {
		case step.Keys != nil:
			var pairs []string
			for _, name := range slices.Sorted(maps.Keys(step.Keys)) {
				pairs = append(pairs, name+"="+step.Keys[name])
			}
			b.WriteString("[" + strings.Join(pairs, ",") + "]")
		case strings.ContainsAny(step.Field, "./"):
			b.WriteString("[" + step.Field + "]")
		case i > 0:
			b.WriteString("." + step.Field)
		default:
			b.WriteString(step.Field)
		}
	}
	return b.String()
}

// selects reports whether an item's fields have the texts of a step's Keys.
func selects(step Step, field func(name string) any) bool {
	for name, text := range step.Keys {
		if textOf(field(name)) != text {
			return false
		}
	}
	return true
}

// textOf returns a scalar as written in a path.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case nil:
		return ""
	default:
		return fmt.Sprint(v)
	}
}
