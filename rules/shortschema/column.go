package shortschema

// Column is a column that kubectl get shows.
type Column struct {
	Title string
	// Type is that of the field: string, integer, number, boolean or date.
	Type string
	// Path leads to the field in the definition's schema.
	Path []string
}

// Columns are the columns of the fields that were read.
func (r *Reader) Columns() []Column { return r.columns }

// columnType is the type of a column for a field.
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
