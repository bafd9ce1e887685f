// Package value has the data of expressions: JSON as CEL values, and CEL values as JSON.
//
// JSON is not copied. Adapter wraps map[string]any and []any, which unstructured objects consist of, in values that
// read them in place. Maps are iterated in the order of their keys, so that the same input gives the same bytes:
//
//	labels := value.FromJSON(map[string]any{"b": "2", "a": "1"}) // no copy
//	out, err := value.ToJSON(labels)                              // a copy, without null and optional.none()
//
// JSON has no bytes: a field with format: byte has base64. Encoded makes a value that knows where in it base64 encodes
// bytes, and decodes them when an expression reads them.
//
// A CEL value can contain another one many times, so it can be larger than any memory although it was cheap to compute.
// Everything that walks over a value therefore has a bound: CountParts, Occupies and ToJSONWithin stop when it is used
// up.
//
// A read of a key that does not exist is a *ReadError with the node of the expression. With it the caller decides by
// the place of the read, and not by the text of an error, whether to wait.
//
// What each file does:
//
//	value.go      the entry point: values from JSON, and what a value is
//	json.go       maps and lists of JSON as values, without a copy
//	made.go       maps and lists that functions made
//	encoded.go    base64 as bytes
//	fields.go     the fields of a map, with keys that JSON can have
//	order.go      the order of keys
//	render.go     values as JSON and as text
//	plain.go      values as plain Go values
//	size.go       how large a value is, and how much memory it takes
//	readerror.go  a read of what does not exist
//	unfit.go      the error for text that cannot be converted
package value
