package openapi

import "strings"

// Type is the type of a JSON value, as far as Kubernetes distinguishes types.
type Type uint8

const (
	// Any is a value of unknown type.
	Any Type = iota
	// Object has Fields and, if Open, other fields.
	Object
	// Map has any string keys, and values of Items.
	Map
	// List has elements of Items.
	List
	// String is text; Format and Enum may restrict it.
	String
	// Integer is a whole number.
	Integer
	// Number is any number.
	Number
	// Boolean is true or false.
	Boolean
	// IntOrString is either one, such as a port or a quantity.
	IntOrString
)

// Schema describes the values of a field. It is immutable, and may contain itself.
type Schema struct {
	// Name is unique among all schemas in use, and the same for the same content: the name of the kind or the
	// component, the path to the schema inside it, and a mark for the content. Only objects have one. Title is its
	// readable part.
	Name string
	Type Type
	// Format restricts a string or a number: date-time, duration, byte, int32. FormatQuantity marks an IntOrString that
	// is a quantity.
	Format string
	// Fields are those of an Object.
	Fields map[string]*Field
	// Open is true for an Object that keeps fields that the schema does not name.
	Open bool
	// Items is the schema of a List's elements and of a Map's values; nil is Any.
	Items *Schema
	// Enum lists the allowed values; empty if all of the type are.
	Enum []any
	// Nullable is true if null is kept as a value.
	Nullable bool
	// Atomic is true for an Object or a Map that is owned as a whole: whoever applies one field of it applies all. A
	// List is always atomic unless it has Keys or is a Set.
	Atomic bool
	// Keys are the fields that identify the elements of a List (listType=map); empty if there are none.
	Keys []string
	// KeyDefaults are the defaults of Keys; nil in the place of a key without one. Empty if no key has one.
	KeyDefaults []any
	// Set is true for a List with listType=set.
	Set bool
}

// FormatQuantity is the format of a resource.Quantity, such as 500m or 1Gi.
const FormatQuantity = "quantity"

// Formats of text that expressions can convert.
const (
	FormatTime     = "date-time"
	FormatDate     = "date"
	FormatDuration = "duration"
)

// QuantityPattern is the pattern of a resource.Quantity in a CustomResourceDefinition, as controller-gen writes it
// (https://github.com/kubernetes-sigs/controller-tools/blob/main/pkg/crd/known_types.go). An IntOrString with it is a
// quantity. A format would not do: the API server warns of formats that it does not check.
const QuantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// FormatByte is the format of base64 text, such as in a Secret's data.
const FormatByte = "byte"

// markSign begins the mark in a name.
const markSign = "~"

// Title is the name for people: apps/v1.Deployment, io.k8s.api.core.v1.PodSpec, shop.example.com/v1.WebApp.spec.
func (s *Schema) Title() string {
	title, _, _ := strings.Cut(s.Name, markSign)
	return title
}

// IsBytes reports whether values are bytes, which are base64 in JSON.
func (s *Schema) IsBytes() bool {
	return s != nil && s.Type == String && s.Format == FormatByte
}

// At returns the schema of a name in an Object or a Map; nil is Any. It returns false if the name is not allowed.
func (s *Schema) At(name string) (*Schema, bool) {
	switch {
	case s == nil:
		return nil, false
	case s.Type == Map:
		return s.Items, true
	case s.Fields[name] != nil:
		return s.Fields[name].Schema, true
	}
	return nil, s.Open
}

// Field is one field of an Object.
type Field struct {
	Schema *Schema
	// Required is true if the API server refuses an object without the field.
	Required bool
	// Defaulted is true if the API server sets the field.
	Defaulted bool
	// Always is true if the API server makes sure that every object has the field, although its documents do not say
	// so.
	Always bool
	// Immutable is true if the validation rule self == oldSelf forbids changes.
	Immutable bool
}
