package shortschema

// Column is a column that kubectl get shows.
type Column struct {
	Title string
	// Type is string, integer, number, boolean or date.
	Type string
	// Path is the path of the field in the definition.
	Path []string
}

// Columns returns the columns of the fields that were read.
func (r *Reader) Columns() []Column { return r.columns }

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
