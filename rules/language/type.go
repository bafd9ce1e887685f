package language

import "cmp"

// Form is what a value looks like in YAML.
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

// Type is what a field may have as its value. The zero value is text without expressions.
type Type struct {
	Form Form
	// Expressions is for Text, and for what else an expression may take the place of.
	Expressions Expressions
	// Gives says what the expression has to give, where there may be one.
	Gives string
	// Words are the only texts that are allowed, besides an expression. Empty: any text.
	Words []string
	// Pattern is for the texts that are allowed, besides an expression. Empty: any text.
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
	// Doc explains it, in Markdown. The first sentence stands for itself.
	Doc      string
	Type     Type
	Required bool
	// Default is the value of a field that is left out, as it is written. Empty: there is
	// none, or Doc says it.
	Default string
	// Since is the version of Kanon that has the field first. Empty: the first version.
	Since string
}

// Version is the version of Kanon that has the field first.
func (f *Field) Version() string { return cmp.Or(f.Since, "0.1") }

// Description is Doc with the default.
func (f *Field) Description() string {
	if f.Default == "" {
		return f.Doc
	}
	return f.Doc + " Default: `" + f.Default + "`."
}

// Fields are those of a mapping, in the order in which they are written.
type Fields []Field

// Field is the field of that name, and nil without one.
func (f Fields) Field(name string) *Field {
	for i := range f {
		if f[i].Name == name {
			return &f[i]
		}
	}
	return nil
}

// Words are the texts that a field may have.
func (f Fields) Words(name string) []string { return f.Field(name).Type.Words }

// Names are those of all fields.
func (f Fields) Names() []string {
	names := make([]string, len(f))
	for i := range f {
		names[i] = f[i].Name
	}
	return names
}

// Forms are the type and those that it may be instead.
func (t *Type) Forms() []*Type {
	if t == nil {
		return nil
	}
	return append([]*Type{t}, t.Or.Forms()...)
}

// Below is the type of a field of a mapping, or of the items of a list if name is empty. It
// is nil where anything may stand.
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
