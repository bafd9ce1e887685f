package shortschema

import (
	"slices"
	"strings"
	"unicode/utf8"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// named is a field whose name may have markers behind a |.
type named struct {
	yamltree.Field
	name    string
	markers []marker
}

// named returns the fields of a mapping. A field that is itself a mapping can have markers behind its name.
func (r *Reader) named(n *yamltree.Node) []named {
	fields := make([]named, 0, len(n.Fields))
	for i := 0; i < len(n.Fields); i++ {
		f := n.Fields[i]
		if rest := r.splitAtComma(f, n.Fields[i+1:]); len(rest) > 0 {
			r.reportSplit(f, rest)
			i += len(rest)
			continue
		}
		field := named{Field: f, name: f.Name}
		if strings.Contains(f.Name, "|") {
			parts := scan(f.Name)
			field.name, field.markers = parts.typ, parts.markers
			switch {
			case parts.broken != "":
				r.report(r.source.Within(f.Key, parts.brokenAt), diagnostic.CodeShortMarker, "%s", parts.broken)
				continue
			case parts.typ == "":
				r.report(r.source.At(f.Key), diagnostic.CodeShortType, "the name of the field is missing").WithHint("write it before the |")
				continue
			}
		}
		if field.name == "" {
			r.report(r.source.At(f.Key), diagnostic.CodeShortType, "a field has an empty name")
			continue
		}
		if slices.ContainsFunc(fields, func(other named) bool { return other.name == field.name }) {
			r.report(r.source.At(f.Key), diagnostic.CodeShortType, "there are two fields %s", field.name).WithHint("remove one of them")
			continue
		}
		fields = append(fields, field)
	}
	return fields
}

// namedField returns the schema of a field with the markers behind its name. It returns nil after a finding.
func (r *Reader) namedField(n named, path []string) *made {
	leave := r.enter(n.markers)
	f := r.field(n.Value, path)
	leave()
	if f == nil || len(n.markers) == 0 {
		return f
	}
	if text, isText := n.Value.Text(); isText {
		r.report(r.source.Within(n.Key, n.markers[0].at), diagnostic.CodeShortMarker, "the markers of %s stand behind its type", n.name).
			WithHint("write %s: %s", n.name, strings.TrimSpace(text)+strings.TrimPrefix(n.Name, n.name))
		return f
	}
	r.applyAll(n.Key, f, n.markers, path)
	return f
}

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
