package shortschema

import (
	"fmt"
	"slices"
	"strings"

	celescape "k8s.io/apiserver/pkg/cel"

	"kanon.dev/kanon/rules/diagnostic"
)

// fixedField is an immutable field in an object.
type fixedField struct {
	// path is its path below the object; empty for the object itself.
	path []string
	// at is the position of the marker in the rule.
	at diagnostic.Position
}

// addImmutable adds the immutable fields of a field to the object that has the field. The API server compares two
// values only where both exist, so there are two validations: one on each immutable field, and one on each object above
// it that forbids to remove a field on its path. The second is not needed for a field that is required or has a
// default: it can only be removed together with the object around it.
func (r *Reader) addImmutable(object *made, name string, f *made) {
	object.immutables = append(object.immutables, f.immutables...)
	fields := f.fixed
	if f.immutable {
		f.validate(map[string]any{"rule": "self == oldSelf", "message": name + " is immutable"})
		fixed := fixedField{at: f.marked["immutable"]}
		fields, object.immutables = []fixedField{fixed}, append(object.immutables, fixed.at)
	}
	if len(fields) == 0 {
		return
	}
	if isOptional := !f.required && f.schema["default"] == nil; isOptional || f.schema["nullable"] == true {
		if rule := r.staysRule(name, fields); rule != nil {
			object.validate(rule)
		}
	}
	for _, fixed := range fields {
		object.fixed = append(object.fixed, fixedField{path: append([]string{name}, fixed.path...), at: fixed.at})
	}
}

// staysRule returns the validation that forbids to remove a field once an immutable field in it has a value. If no
// expression can name these fields, it reports that and returns nil.
func (r *Reader) staysRule(name string, fields []fixedField) map[string]any {
	whole, subject := false, name
	var set []string
	for _, fixed := range fields {
		steps := append([]string{name}, fixed.path...)
		terms, wrong := hasTerms(steps)
		if wrong != "" {
			r.reportOnce(fixed.at, "immutable: the API server has no expression for %q, and so cannot see that it is removed", wrong).
				WithHint("give it a name of letters, digits, - and _ that does not begin with a digit, or make it required")
			return nil
		}
		whole = whole || len(fixed.path) == 0
		if len(fields) == 1 {
			subject = strings.Join(steps, ".")
		}
		if len(terms) > 1 {
			set = append(set, strings.Join(terms[1:], " && "))
		}
	}
	escaped, _ := celescape.Escape(name)
	rule := fmt.Sprintf("!has(oldSelf.%s) || has(self.%s)", escaped, escaped)
	if whole {
		return map[string]any{"rule": rule, "message": name + " is immutable, and cannot be removed"}
	}
	message := fmt.Sprintf("%s is immutable, so %s cannot be removed", subject, name)
	if len(fields) > 1 {
		message = name + " has immutable fields, and cannot be removed"
	}
	return map[string]any{"rule": rule + " || !(" + strings.Join(set, " || ") + ")", "message": message}
}

// hasTerms returns an expression for each field on a path: that it had a value before the update. wrong is a name that
// cannot be written in an expression.
func hasTerms(steps []string) (terms []string, wrong string) {
	path := []string{"oldSelf"}
	for _, step := range steps {
		escaped, ok := celescape.Escape(step)
		if !ok {
			return nil, step
		}
		path = append(path, escaped)
		terms = append(terms, "has("+strings.Join(path, ".")+")")
	}
	return terms, ""
}

// addImmutableItems adds the immutable fields of items, or of entries, to the list or map that has them. An immutable
// field may be removed together with its item or entry.
func (f *made) addImmutableItems(of *made) {
	f.immutables = of.immutables
	if !of.immutable {
		return
	}
	what := "an item"
	if f.base == mapping {
		what = "an entry"
	}
	of.validate(map[string]any{"rule": "self == oldSelf", "message": what + " is immutable"})
	f.immutables = append(slices.Clone(f.immutables), of.marked["immutable"])
}

// checkImmutables reports immutable fields below a value whose parts the API server cannot compare at an update.
func (r *Reader) checkImmutables(f *made, at diagnostic.Position) {
	if len(f.immutables) == 0 {
		return
	}
	switch {
	case f.base == list && f.schema["x-kubernetes-list-type"] != "map":
		r.reportOnce(f.immutables[0], "immutable is in the items of a list without uniqueBy: the API server does not know which item was which").
			WithRelated(at, "the list is here").
			WithHint("write uniqueBy=NAME behind the list, or immutable there and not here")
	case f.schema["x-kubernetes-map-type"] == "atomic":
		r.reportOnce(f.immutables[0], "immutable is in an atomic value: the API server does not compare its parts").
			WithRelated(at, "the atomic value is here").
			WithHint("remove atomic, or write immutable behind the value and not here")
	}
}

// reportOnce reports a problem with a marker once for each position: a type's marker applies to all fields of the type.
func (r *Reader) reportOnce(at diagnostic.Position, format string, args ...any) *diagnostic.Finding {
	if r.reported[at] {
		return &diagnostic.Finding{}
	}
	r.reported[at] = true
	return r.report(at, diagnostic.CodeShortMarker, format, args...)
}
