package layout

import (
	"slices"

	"kanon.dev/kanon/rules/language"
)

// ranks is the sort rank of each field of a mapping. A field that the language does not have keeps its place after the
// field before it.
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

// orderOf lists the names of a mapping's fields in order. nil: no order.
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
