package shortschema

import (
	"slices"
	"strings"
	"unicode/utf8"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// splitAtComma returns the fields in after that are really the rest of f's text. In a flow mapping {…}, YAML ends a
// text without quotes at a comma.
func (r *Reader) splitAtComma(f yamltree.Field, after []yamltree.Field) []yamltree.Field {
	written, _ := f.Value.Text()
	if parts := scan(written); len(parts.markers) == 0 || !parts.markers[len(parts.markers)-1].hasValue {
		return nil
	}
	line := r.source.At(f.Value).Line
	isWhole := func(f yamltree.Field) bool {
		return f.Value.Kind != yamltree.Scalar || f.Value.Value != nil || r.source.At(f.Key).Line != line
	}
	if end := slices.IndexFunc(after, isWhole); end >= 0 {
		return after[:end]
	}
	return after
}

func (r *Reader) reportSplit(f yamltree.Field, rest []yamltree.Field) {
	written, _ := f.Value.Text()
	at, last := r.source.At(f.Value), rest[len(rest)-1]
	for _, more := range rest {
		written += "," + more.Name
	}
	found := r.report(at, diagnostic.CodeShortMarker, "YAML ends the text of %s at the comma: in {…}, a text with a comma stands in quotes", f.Name)
	found.WithHint("write '%s'", written)
	if end := r.source.At(last.Key); !strings.Contains(written, "'") {
		end.Column += utf8.RuneCountInString(last.Name)
		found.WithEdit(at, "", "'").WithEdit(end, "", "'")
	}
}
