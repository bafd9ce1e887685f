package layout

import (
	"slices"

	"kanon.dev/kanon/rules/language"
)

// ranks gives the place of each field of a mapping of that type. A field that the language does not have stays behind the one
// before it.
func ranks(t *language.Type, names []string) []int {
	order := orderOf(t, names)
	out := make([]int, len(names))
	last := -1
	for i, name := range names {
		if at := slices.Index(order, name); at >= 0 {
			last = at
		}
		out[i] = last
	}
	return out
}

// orderOf are the names of the fields of a mapping in their order. Nil: any order.
func orderOf(t *language.Type, names []string) []string {
	for _, form := range t.Forms() {
		switch form.Form {
		case language.Mapping:
			if known := form.Fields.Names(); slices.ContainsFunc(names, func(name string) bool { return slices.Contains(known, name) }) {
				return known
			}
		case language.Object:
			if slices.Contains(names, "apiVersion") && slices.Contains(names, "kind") {
				return []string{"apiVersion", "kind", "metadata"}
			}
		}
	}
	return nil
}
