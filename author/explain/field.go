package explain

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Field is a leaf of an object that a rule renders.
type Field struct {
	Path Path
	// Value is nil if it is hidden.
	Value any
	// Hidden is true if the value comes from a Secret or goes into one.
	Hidden bool
	// Absent is true if the rule has the field in its template but gives it no value.
	Absent bool
	// Problem says why there is no value, if an input is missing.
	Problem string
	Source  *Source

	// raw is the value, hidden or not, for comparison with the live value.
	raw any
}

// Source is the place in a rule that sets a value.
type Source struct {
	diagnostic.Position `json:",inline"`
	// Length is the number of characters from the position. 0: only the position is known.
	Length int `json:"length,omitempty"`
	// Text is the line. For a rule in an object, which has no lines, it is the content of the field. It is empty if it
	// must not be shown.
	Text string `json:"-"`
	// Expression is empty if the value is a literal.
	Expression string `json:"expression,omitempty"`
	// Inputs are the distinct reads of the expression, in the order of its text.
	Inputs []Input `json:"inputs,omitempty"`
}

// Input is one read of an expression.
type Input struct {
	// Path is the read as written in the expression.
	Path string `json:"path"`
	// Value is nil if it is hidden, absent or unknown, and for a whole object.
	Value  any  `json:"value,omitempty"`
	Hidden bool `json:"hidden,omitempty"`
	// Absent is true if the value does not exist. Waits says why it is not known yet.
	Absent bool   `json:"absent,omitempty"`
	Waits  string `json:"waits,omitempty"`
	// Object is the object that the field belongs to; nil if there is none or more than one.
	Object *mark.Ref `json:"object,omitempty"`
	// Source is the origin of a variable, an item of a forEach, or the name of a lookup. It is nil if it is shown
	// already.
	Source *Source `json:"source,omitempty"`
}

// Path leads to a field of an object.
type Path []Step

// Step is a field name, or the index of a list item if Index is not negative.
type Step struct {
	Name  string
	Index int
	// Keys identify the item, as in [name=web]. They are empty if only the index does.
	Keys map[string]string
}

func named(name string) Step { return Step{Name: name, Index: -1} }

// String is the path in the syntax of a rule's ignore: spec.template.spec.containers[name=web].image. An item without a
// key has its index.
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.Index >= 0 && s.Keys == nil:
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case i > 0 && s.Index < 0 && yamltree.IsPathName(s.Name):
			b.WriteString("." + s.Name)
		default:
			b.WriteString(syntax.IgnorePath{s.inRule()}.String())
		}
	}
	return b.String()
}

// inRule is the step in the syntax of a rule.
func (s Step) inRule() syntax.IgnoreStep { return syntax.IgnoreStep{Field: s.Name, Keys: s.Keys} }

// pathOf is the path that a rule writes. locate finds the indices of its items.
func pathOf(written syntax.IgnorePath) Path {
	path := make(Path, len(written))
	for i, step := range written {
		if path[i] = named(step.Field); step.Keys != nil {
			path[i] = Step{Index: math.MaxInt, Keys: step.Keys}
		}
	}
	return path
}

// MarshalText implements encoding.TextMarshaler.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// then is the path with one more step. The result shares no memory that a later append could change.
func (p Path) then(s Step) Path { return append(slices.Clip(p), s) }

// isBelow reports whether p is other, or a field below it.
func (p Path) isBelow(other Path) bool {
	if len(p) < len(other) {
		return false
	}
	for i, s := range other {
		if p[i].Name != s.Name || p[i].Index != s.Index {
			return false
		}
	}
	return true
}

// eachLeaf calls visit with the leaves of a value, in the order of YAML. An empty mapping or list is a leaf.
func eachLeaf(value any, at Path, visit func(at Path, leaf any)) {
	fields, _ := value.(map[string]any)
	items, _ := value.([]any)
	if len(fields)+len(items) == 0 {
		visit(at, value)
	}
	for _, name := range sortedNames(fields) {
		eachLeaf(fields[name], at.then(named(name)), visit)
	}
	for i, item := range items {
		eachLeaf(item, at.then(itemStep(items, i)), visit)
	}
}

// itemStep is the step to an item of a list. The item is identified by the first of the usual key fields of Kubernetes'
// lists whose values are all set and distinct, else by its index.
func itemStep(items []any, index int) Step {
	for _, key := range []string{"name", "type", "key", "containerPort", "port", "mountPath", "ip", "uid"} {
		seen := map[string]bool{}
		for _, item := range items {
			seen[textOf(item, key)] = true
		}
		if !seen[""] && len(seen) == len(items) {
			return Step{Index: index, Keys: map[string]string{key: textOf(items[index], key)}}
		}
	}
	return Step{Index: index}
}

// textOf is a string or integer field of an item as text; empty if the item has none.
func textOf(item any, name string) string {
	fields, _ := item.(map[string]any)
	switch v := fields[name].(type) {
	case string:
		return v
	case int64:
		return fmt.Sprint(v)
	}
	return ""
}

// locate finds the field at a path of another object. Items with keys are found by their keys, and a name that is a number
// is the position of an item if there is a list. at is the path in object.
func locate(object any, p Path) (at Path, value any, exists bool) {
	value = object
	for _, step := range p {
		items, _ := value.([]any)
		if index, err := strconv.Atoi(step.Name); err == nil && index >= 0 && index < len(items) {
			step = itemStep(items, index) // a position, as in containers.0
		}
		if step.Index < 0 {
			fields, _ := value.(map[string]any)
			if value, exists = fields[step.Name]; !exists {
				return append(at, p[len(at):]...), nil, false
			}
			at = append(at, step)
			continue
		}
		index := step.Index
		if step.Keys != nil {
			index = slices.IndexFunc(items, func(item any) bool {
				return !slices.ContainsFunc(sortedNames(step.Keys), func(key string) bool { return textOf(item, key) != step.Keys[key] })
			})
		}
		if index < 0 || index >= len(items) {
			return append(at, p[len(at):]...), nil, false
		}
		step.Index = index
		value, at = items[index], append(at, step)
	}
	return at, value, true
}
