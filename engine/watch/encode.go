package watch

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// AppendJSON appends a value, of those that unstructured objects hold, as encoding/json writes it, byte for byte: keys of
// maps in their order, and <, > and & escaped. It takes half the time, as nothing is reflected upon. The error is
// that of encoding/json for what has no JSON, such as a float64 that is not a number.
func AppendJSON(to []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return appendString(to, v)
	case map[string]any:
		if v != nil {
			return appendMap(to, v)
		}
	case []any:
		if v != nil {
			return appendList(to, v)
		}
	case int64:
		return strconv.AppendInt(to, v, 10), nil
	case bool:
		return strconv.AppendBool(to, v), nil
	case nil:
	default:
		return appendOther(to, v)
	}
	return append(to, "null"...), nil
}

func appendMap(to []byte, fields map[string]any) ([]byte, error) {
	var some [16]string // as many as most objects have at one place
	names := some[:0]
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	to = append(to, '{')
	for i, name := range names {
		if i > 0 {
			to = append(to, ',')
		}
		var err error
		if to, err = appendString(to, name); err != nil {
			return nil, err
		}
		if to, err = AppendJSON(append(to, ':'), fields[name]); err != nil {
			return nil, err
		}
	}
	return append(to, '}'), nil
}

func appendList(to []byte, list []any) ([]byte, error) {
	to = append(to, '[')
	for i, item := range list {
		if i > 0 {
			to = append(to, ',')
		}
		var err error
		if to, err = AppendJSON(to, item); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}

// appendString appends a text that stands for itself; encoding/json knows how to write any other.
func appendString(to []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return appendOther(to, s)
		}
	}
	return append(append(append(to, '"'), s...), '"'), nil
}

func appendOther(to []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(to, text...), err
}

// buffers are for texts that are used and forgotten at once.
//
//nolint:gochecknoglobals // A pool is for all who use it.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Encode implements runtime.Encoder.
func (s objects) Encode(object runtime.Object, to io.Writer) error {
	tree, ok := object.(*unstructured.Unstructured)
	if !ok || tree.GetKind() == "" {
		return s.Serializer.Encode(object, to)
	}
	buffer, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	text, err := AppendJSON((*buffer)[:0], tree.Object)
	if err != nil {
		return err
	}
	*buffer = text
	_, err = to.Write(text)
	return err
}
