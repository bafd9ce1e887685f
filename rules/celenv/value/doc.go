// Package value is the data of expressions: JSON as CEL values, and CEL values as JSON.
//
// JSON stays as it is. Adapter wraps map[string]any and []any, as unstructured objects hold them, in values that
// read them in place. Maps are iterated in the order of their keys, so that the same input gives the same bytes:
//
//	labels := value.FromJSON(map[string]any{"b": "2", "a": "1"}) // no copy
//	out, err := value.ToJSON(labels)                              // a copy, without null and optional.none()
//
// JSON has no bytes: a field with format: byte holds base64. Encoded makes a value that remembers where in it base64
// stands for bytes, and decodes it where an expression reads it.
//
// A CEL value can hold another one many times over, so it can be larger than any memory without having cost much.
// Everything that walks over a value therefore counts: CountParts, Occupies and ToJSONWithin end when their bound is
// used up.
//
// A key that does not exist is a *ReadError, which names the node of the expression that asked for it. By it the caller
// decides by place, and not by the text of an error, whether to wait.
package value
