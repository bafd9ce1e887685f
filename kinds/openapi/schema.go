package openapi

import "strings"

// Type is the type of a JSON value, as far as Kubernetes tells types apart.
type Type uint8

const (
	// Any is a value of which nothing more is known.
	Any Type = iota
	// Object has Fields, and with Open others that are not known.
	Object
	// Map has string keys of any name and values of Items.
	Map
	// List has elements of Items.
	List
	// String is text; Format and Enum may say more.
	String
	// Integer is a whole number.
	Integer
	// Number is any number.
	Number
	// Boolean is true or false.
	Boolean
	// IntOrString is either, such as a port or a quantity.
	IntOrString
)

// Schema describes the values that a field can have. It is immutable, and may
// contain itself.
type Schema struct {
	// Name is unique among all schemas in use and stays the same for the same
	// content: the kind's or the component's, with the path to a schema within
	// another, and a mark for the content. Empty for all but objects. Title is
	// its readable part.
	Name string
	Type Type
	// Format narrows a string or a number: date-time, duration, byte, int32. That
	// of an IntOrString which is a quantity is FormatQuantity.
	Format string
	// Fields are those of an Object.
	Fields map[string]*Field
	// Open is true for an Object that keeps fields which the schema does not name.
	Open bool
	// Items is the schema of a List's elements and of a Map's values; nil: Any.
	Items *Schema
	// Enum lists the values that can stand there; empty: all of the type.
	Enum []any
	// Nullable is true where null is kept as a value.
	Nullable bool
	// Atomic is true for an Object or a Map that is one value: who writes one
	// field of it writes all. A List is that unless it has Keys or is a Set.
	Atomic bool
	// Keys are the fields by which elements of a List are told apart, as a
	// list-map; empty: none.
	Keys []string
	// KeyDefaults are the values of Keys that an element has if it leaves them
	// out; nil in the place of a key that has none. Empty: none has.
	KeyDefaults []any
	// Set is true for a List whose elements are a set.
	Set bool
}

// FormatQuantity is the format of a resource.Quantity, such as 500m or 1Gi.
const FormatQuantity = "quantity"

// Formats of text that expressions compute with.
const (
	FormatTime     = "date-time"
	FormatDate     = "date"
	FormatDuration = "duration"
)

// QuantityPattern is the pattern of a resource.Quantity in a CustomResourceDefinition, as controller-gen writes it
// (https://github.com/kubernetes-sigs/controller-tools/blob/main/pkg/crd/known_types.go). An IntOrString with it is a quantity: the API
// server warns of a format that it does not check.
const QuantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// FormatByte is the format of text that is base64, such as that in a Secret's data.
const FormatByte = "byte"

// markSign begins the part of a name that stands for the content.
const markSign = "~"

// Title is the name for people: apps/v1.Deployment, io.k8s.api.core.v1.PodSpec,
// shop.example.com/v1.WebApp.spec.
func (s *Schema) Title() string {
	title, _, _ := strings.Cut(s.Name, markSign)
	return title
}

// IsBytes reports whether values are bytes, which JSON has as base64.
func (s *Schema) IsBytes() bool {
	return s != nil && s.Type == String && s.Format == FormatByte
}

// At is the schema of what stands under a name in an Object or a Map; nil: Any. It is false
// if nothing can stand there.
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
	// Required is true where the API server refuses an object without it.
	Required bool
	// Defaulted is true where the API server fills it in.
	Defaulted bool
	// Always is true where the API server sees to it that every object has the
	// field, though its documents do not say so.
	Always bool
	// Immutable is true where the definition lets nobody change the value, by the validation
	// rule self == oldSelf.
	Immutable bool
}
