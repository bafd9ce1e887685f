package provenance

import (
	"slices"
	"strconv"
	"strings"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/ignore"
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
	// Key and Value identify the item, as in [name=web]. Key is empty if only the index does.
	Key, Value string
}

func named(name string) Step { return Step{Name: name, Index: -1} }

// String is the path in the syntax of a rule's ignore: spec.template.spec.containers[name=web].image. An item without a
// key has its index.
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.Index >= 0 && s.Key == "":
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case i > 0 && s.Index < 0 && yamltree.IsPathName(s.Name):
			b.WriteString("." + s.Name)
		default:
			b.WriteString(ignore.Path{s.inRule()}.String())
		}
	}
	return b.String()
}

// inRule is the step in the syntax of a rule.
func (s Step) inRule() ignore.Step {
	if s.Key != "" {
		return ignore.Step{Keys: map[string]string{s.Key: s.Value}}
	}
	return ignore.Step{Field: s.Name}
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
