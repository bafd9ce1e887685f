package shortschema

import "strings"

// Columns returns the columns of the fields that were read, as a definition has them.
func (r *Reader) Columns() []any { return r.columns }

// kubectlPath is the path of a field for kubectl. place is its path in the definition: that of the schema of a version,
// and then properties, name, properties, name, …
func kubectlPath(place []string) string {
	var b strings.Builder
	for i := len(Path(0)) + 1; i < len(place); i += 2 {
		b.WriteString("." + strings.ReplaceAll(place[i], ".", `\.`))
	}
	return b.String()
}

// columnType returns the type of the column of a field.
func columnType(schema map[string]any) string {
	kind, _ := schema["type"].(string)
	if kind == "string" && schema["format"] == "date-time" {
		return "date"
	}
	if kind == "" {
		return "string"
	}
	return kind
}
