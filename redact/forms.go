package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// leastLine is from how many characters on a line of a value with several is looked for by itself: a shorter one, such as that of a
// configuration file, would be found where it is not.
const leastLine = 16

// formsOf are a value and what functions of rules, and messages of errors, make of it: base64, as a whole and as part of another text
// (user:password), quoted as in JSON and in messages, escaped as in a URL, and its lines, which YAML indents.
func formsOf(text string) []string {
	if text == "" {
		return nil
	}
	forms := []string{text, quoted(text), strings.Trim(strconv.Quote(text), `"`), url.QueryEscape(text), url.PathEscape(text)}
	if escaped, err := json.Marshal(text); err == nil { // with <, > and & escaped
		forms = append(forms, strings.Trim(string(escaped), `"`))
	}
	forms = append(forms, base64Forms(text)...)
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= leastLine {
			forms = append(forms, line)
		}
	}
	return forms
}

// quoted is a text as a string of JSON without its quotes.
func quoted(text string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return text
	}
	escaped := strings.TrimSuffix(out.String(), "\n")
	return escaped[1 : len(escaped)-1]
}

// base64Forms are the base64 of a text, and the characters that it gives in the base64 of a longer text with it, which depend on where
// in it the text begins.
func base64Forms(text string) []string {
	var forms []string
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		forms = append(forms, encoding.EncodeToString([]byte(text)), encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(text)))
		for before := range 3 {
			encoded := encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(strings.Repeat("x", before) + text))
			first, last := (before*8+5)/6, (before+len(text))*8/6 // of the characters that have no bit of another text
			if part := encoded[first:last]; len(part) >= LeastPart {
				forms = append(forms, part)
			}
		}
	}
	return forms
}
