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
package value
