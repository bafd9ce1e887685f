package shortschema

import (
	"strings"
	"unicode"
	"unicode/utf8"
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
