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

// Field is a leaf of what a rule renders.
type Field struct {
	Path Path
	// Value is nil if it is hidden.
	Value any
	// Hidden is true if the value comes from a Secret or goes into one.
	Hidden bool
	// Absent is true if the rule has a line for the field, and it gave no value.
	Absent bool
	// Problem says why there is no value, if something is missing for it.
	Problem string
	Source  *Source

	// raw is the value, hidden or not, to compare it with the live one.
	raw any
}

// Source is a place in a rule from which a value comes.
type Source struct {
	diagnostic.Position `json:",inline"`
	// Length is how many characters of the line are meant. 0: only the position is known.
	Length int `json:"length,omitempty"`
	// Text is the line; in an object, which has no lines, what is written in the field. It is empty if it may not be shown.
	Text string `json:"-"`
	// Expression is empty if the value is a literal.
	Expression string `json:"expression,omitempty"`
	// Inputs are what the expression reads, each once, in the order of its text.
	Inputs []Input `json:"inputs,omitempty"`
}

// Input is what an expression has read.
type Input struct {
	// Path is the read as the expression has it.
	Path string `json:"path"`
	// Value is nil if it is hidden, absent or not known, and for an object as a whole.
	Value  any  `json:"value,omitempty"`
	Hidden bool `json:"hidden,omitempty"`
	// Absent is true if it does not exist, and Waits says why it is not known yet.
	Absent bool   `json:"absent,omitempty"`
	Waits  string `json:"waits,omitempty"`
	// Object is the object that it is a field of; nil if there is none, or several.
	Object *mark.Ref `json:"object,omitempty"`
	// Source is where a variable, an item of a forEach or the name of a lookup comes from. A source that is shown already is left out.
	Source *Source `json:"source,omitempty"`
}

// Path leads to a field of an object.
type Path []Step

// Step is the name of a field, or the index of an item if that is not negative.
type Step struct {
	Name  string
	Index int
	// Key and Value tell the item apart, as in [name=web]. Key is empty if only the index does.
	Key, Value string
}

func named(name string) Step { return Step{Name: name, Index: -1} }

// String is the path as in a rule's ignore: spec.template.spec.containers[name=web].image. An item without a key has its index.
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

// inRule is the step as a rule has it.
func (s Step) inRule() ignore.Step {
	if s.Key != "" {
		return ignore.Step{Keys: map[string]string{s.Key: s.Value}}
	}
	return ignore.Step{Field: s.Name}
}

// MarshalText implements encoding.TextMarshaler.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// then is the path with one more step. It shares no memory with others.
func (p Path) then(s Step) Path { return append(slices.Clip(p), s) }

// isBelow reports whether p is the field that other leads to, or a part of it.
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
