package celenv

import (
	"regexp"
	"strings"
)

// TokenLength is how many bytes of an expression the word, the number, the text, the field or the operator takes that begins at an
// offset. Within the quotes of an index, it is all up to the closing one.
func TokenLength(text string, offset int) int {
	if offset < 0 || offset >= len(text) {
		return 0
	}
	rest := text[offset:]
	if before := strings.TrimRight(text[:offset], " "); len(before) > 1 && before == text[:offset] {
		if quote := before[len(before)-1:]; strings.ContainsAny(quote, "\"'`") && strings.ContainsAny(before[len(before)-2:len(before)-1], "[?.") {
			if end := strings.Index(rest, quote); end > 0 {
				return end
			}
		}
	}
	return len(token.FindString(rest))
}

// token is a token of CEL. A field has the dot before it.
var token = regexp.MustCompile("^(?:" +
	`\.\s*\??\s*(?:[A-Za-z_]\w*|` + "`[^`]*`" + `)|` + // .name, .?name
	`[A-Za-z_]\w*|` + "`[^`]*`|" +
	`[0-9][0-9a-zA-Z]*(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?)?|` +
	`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` +
	`==|!=|<=|>=|&&|\|\||.)`)
