package shortschema

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

type marker struct {
	name string
	// at and valueAt are the bytes of the field's text at which the marker and its value begin.
	at, valueAt int
	// value has no quotes around it if quoted. It is empty without a value.
	value            string
	hasValue, quoted bool
}

// field is the text of a field, split into its parts.
type field struct {
	typ     string
	typeAt  int
	markers []marker
	// broken is the syntax error at brokenAt, if any.
	broken   string
	brokenAt int
}

// scan splits the text of a field: TYPE | NAME=VALUE NAME …. A value in double quotes may contain anything, with " and
// \ escaped as \" and \\. Any other value ends at a space or | outside of brackets. Markers may be separated by more |.
func scan(text string) field {
	typ, _, _ := strings.Cut(text, "|")
	f := field{typ: strings.TrimSpace(typ), typeAt: len(typ) - len(strings.TrimLeft(typ, " \t\n"))}
	s := scanner{text: text, at: len(typ)}
	for s.skip("| \t\r\n"); s.at < len(text) && f.broken == ""; s.skip("| \t\r\n") {
		f.markers = append(f.markers, s.marker())
		f.broken, f.brokenAt = s.broken, s.brokenAt
	}
	return f
}

type scanner struct {
	text     string
	at       int
	broken   string
	brokenAt int
}

func (s *scanner) skip(set string) {
	rest := strings.TrimLeft(s.text[s.at:], set)
	s.at = len(s.text) - len(rest)
}

// marker reads a marker with its value.
func (s *scanner) marker() marker {
	m := marker{at: s.at}
	end := strings.IndexFunc(s.text[s.at:], func(r rune) bool { return r == '=' || r == '|' || unicode.IsSpace(r) })
	if end < 0 {
		end = len(s.text) - s.at
	}
	m.name = s.text[s.at : s.at+end]
	if s.at += end; s.at == len(s.text) || s.text[s.at] != '=' {
		m.valueAt = s.at
		if rest := strings.TrimLeft(s.text[s.at:], " \t\r\n"); strings.HasPrefix(rest, "=") {
			s.broken, s.brokenAt = "no blank stands before the = of "+m.name, s.at
		}
		return m
	}
	s.at++
	m.hasValue, m.valueAt = true, s.at
	if strings.HasPrefix(s.text[s.at:], `"`) {
		m.quoted, m.value = true, s.inQuotes()
		return m
	}
	if end := s.singleQuoted(); end > 0 {
		m.value = s.text[s.at:end]
		s.at = end
		return m
	}
	m.value = s.plain()
	return m
}

// inSingleQuotes reports whether a value is in single quotes, which do not quote here.
func (m *marker) inSingleQuotes() bool {
	return !m.quoted && len(m.value) > 1 && strings.HasPrefix(m.value, "'") && strings.HasSuffix(m.value, "'")
}

// singleQuoted returns the end of a value in single quotes; 0 if the value is not in single quotes.
func (s *scanner) singleQuoted() int {
	if !strings.HasPrefix(s.text[s.at:], "'") {
		return 0
	}
	length := strings.IndexByte(s.text[s.at+1:], '\'')
	if length < 0 {
		return 0
	}
	end := s.at + 1 + length + 1
	if end < len(s.text) && s.text[end] != ' ' && s.text[end] != '|' {
		return 0
	}
	return end
}

func (s *scanner) inQuotes() string {
	start := s.at
	var b strings.Builder
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return b.String()
		case c == '\\' && s.at+1 < len(s.text) && (s.text[s.at+1] == '"' || s.text[s.at+1] == '\\'):
			s.at++
			b.WriteByte(s.text[s.at])
		default:
			b.WriteByte(c)
		}
	}
	s.broken, s.brokenAt = "the quote is not closed", start
	return b.String()
}

func (s *scanner) plain() string {
	start, quoted := s.at, false
	var open []byte
	for s.at < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[s.at:])
		switch {
		case r == '"':
			quoted = !quoted
		case quoted && r == '\\':
			s.at++
		case quoted:
		case r == '[' || r == '{':
			open = append(open, byte(r))
		case r == ']' || r == '}':
			if want := map[rune]byte{']': '[', '}': '{'}[r]; len(open) == 0 || open[len(open)-1] != want {
				s.broken, s.brokenAt = "nothing opens this bracket", s.at
				return ""
			}
			open = open[:len(open)-1]
		case len(open) == 0 && (unicode.IsSpace(r) || r == '|'):
			return s.text[start:s.at]
		}
		s.at += size
	}
	s.at = min(s.at, len(s.text))
	switch {
	case quoted:
		s.broken, s.brokenAt = "the quote is not closed", start
	case len(open) > 0:
		s.broken, s.brokenAt = "the bracket is not closed", start
	}
	return s.text[start:s.at]
}

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
