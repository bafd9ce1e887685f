package language

import "cmp"

// Form is the shape of a value in YAML.
type Form uint8

const (
	// Text is a string.
	Text Form = iota
	// Boolean is true or false.
	Boolean
	// Number is a whole number.
	Number
	// Mapping is a mapping with certain fields.
	Mapping
	// Texts is a mapping of any names to strings, such as labels.
	Texts
	// List is a list of items of one type.
	List
	// Object is a mapping with any content, expressions included, such as a template.
	Object
	// Anything is any YAML, expressions included.
	Anything
	// ShortSchema is a mapping of fields, or of types, in the short form of a schema: each a type with markers, or a mapping.
	ShortSchema
)

// Expressions says whether a value may be, or contain, ${…}.
type Expressions uint8

const (
	// None is for values that are read before there is a parent.
	None Expressions = iota
	// Allowed is for a value that is written out, or computed.
	Allowed
	// Required is for a value that is one expression.
	Required
)

// Type is the type of a field. The zero value is text without expressions.
type Type struct {
	Form Form
	// Expressions is for Text, and for any other type whose value an expression may compute.
	Expressions Expressions
	// Gives is what an expression must give, if one is allowed.
	Gives string
	// Words are the only texts that are allowed, besides an expression. Empty: any text.
	Words []string
	// Pattern matches the texts that are allowed, besides an expression. Empty: any text.
	Pattern string
	// Least is the smallest Number.
	Least int
	// Fields are those of a Mapping.
	Fields Fields
	// Items is the type of the items of a List.
	Items *Type
	// Or is another form that a value may have.
	Or *Type
}

// Field is one field of a mapping.
type Field struct {
	Name string
	// Doc explains it, in Markdown. The first sentence can be shown alone.
	Doc      string
	Type     Type
	Required bool
	// Default is the value of a field that is left out, as a rule writes it. Empty: there is none, or Doc explains it.
	Default string
	// Since is the version of Kanon that introduced the field. Empty: the first version.
	Since string
}

// Version is the version of Kanon that introduced the field.
func (f *Field) Version() string { return cmp.Or(f.Since, "0.1") }

// Description is Doc, followed by the default.
func (f *Field) Description() string {
	if f.Default == "" {
		return f.Doc
	}
	return f.Doc + " Default: `" + f.Default + "`."
}

// Fields are the fields of a mapping, in the order in which kanon fmt writes them.
type Fields []Field

// Field is the field of a name; nil if there is none.
func (f Fields) Field(name string) *Field {
	for i := range f {
		if f[i].Name == name {
			return &f[i]
		}
	}
	return nil
}

// Words are the texts that a field allows.
func (f Fields) Words(name string) []string { return f.Field(name).Type.Words }

// Names are the names of all fields.
func (f Fields) Names() []string {
	names := make([]string, len(f))
	for i := range f {
		names[i] = f[i].Name
	}
	return names
}

// Forms are the type and its alternatives.
func (t *Type) Forms() []*Type {
	if t == nil {
		return nil
	}
	return append([]*Type{t}, t.Or.Forms()...)
}

// Below is the type of a field of a mapping; for an empty name, that of the items of a list. It is nil if anything is
// allowed.
func (t *Type) Below(name string) *Type {
	for _, form := range t.Forms() {
		switch {
		case form.Form == List && name == "":
			return form.Items
		case form.Form == Mapping && form.Fields.Field(name) != nil:
			return &form.Fields.Field(name).Type
		}
	}
	return nil
}

// text, flag and the others are short for types that many fields have.
func text() Type                 { return Type{} }
func words(all ...string) Type   { return Type{Words: all} }
func flag() Type                 { return Type{Form: Boolean} }
func number(least int) Type      { return Type{Form: Number, Least: least} }
func mapping(f Fields) Type      { return Type{Form: Mapping, Fields: f} }
func list(items Type) Type       { return Type{Form: List, Items: &items} }
func template() Type             { return Type{Form: Object} }
func shortSchema() Type          { return Type{Form: ShortSchema} }
func anything() Type             { return Type{Form: Anything, Expressions: Allowed} }
func textOrExpression() Type     { return Type{Expressions: Allowed, Gives: "string"} }
func condition() Type            { return Type{Expressions: Required, Gives: "bool"} }
func or(first, second Type) Type { first.Or = &second; return first }

func duration() Type {
	return Type{Expressions: Allowed, Gives: "duration", Pattern: `^[+]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`}
}
