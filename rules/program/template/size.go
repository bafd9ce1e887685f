package template

import "strconv"

// storedSize is the size of an object as stored JSON. The API server records the owner of every field as "f:name":{},
// once for the manager that created the object and once for the one that applied it since, so each name counts three
// times. (An object of 1.33 MB had 1.67 MB after its first apply.)
func storedSize(val any) int {
	const record = len(`"f:":{},`)
	switch v := val.(type) {
	case map[string]any:
		size := len("{}")
		for name, field := range v {
			size += jsonTextSize(name) + len(":,") + 2*(record+len(name)) + storedSize(field)
		}
		return size
	case []any:
		size := len("[]")
		for _, item := range v {
			size += storedSize(item) + len(",")
		}
		return size
	case string:
		return jsonTextSize(v)
	case int64:
		var buf [20]byte
		return len(strconv.AppendInt(buf[:0], v, 10))
	case float64:
		var buf [24]byte
		return len(strconv.AppendFloat(buf[:0], v, 'g', -1, 64))
	case bool:
		return len("false")
	}
	return len("null")
}

// jsonTextSize is the length of a text as JSON.
func jsonTextSize(s string) int {
	size := len(s) + len(`""`)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			size++
		case c < ' ':
			size += len(`\u0000`) - 1
		}
	}
	return size
}
