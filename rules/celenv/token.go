package celenv

import (
	"regexp"
	"strings"
)

// TokenStart returns where the token at an offset of CEL begins for people: CEL's offset of a call is that of its
// bracket, and people look for the name of the function.
func TokenStart(text string, offset int) int {
	if offset <= 0 || offset >= len(text) || text[offset] != '(' {
		return offset
	}
	return offset - len(name.FindString(text[:offset]))
}

// name matches a name at the end of a text.
var name = regexp.MustCompile(`[A-Za-z_]\w*$`)

// TokenLength returns the number of bytes of the token that begins at an offset: a word, number, string, field, index
// or operator. Within the quotes of an index or a field, the token goes up to the closing quote.
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
	if offset > 0 && isOperand.MatchString(text[:offset]) {
		if index := index.FindString(rest); index != "" {
			return len(index)
		}
	}
	return len(token.FindString(rest))
}

var (
	// isOperand matches a text that an index can follow.
	isOperand = regexp.MustCompile("[\\w\\])}`]$")
	// index matches an index without another one in it.
	index = regexp.MustCompile(`^\[[^\[\]]*\]`)
)

// token matches a token of CEL. A field includes the dot before it.
var token = regexp.MustCompile("^(?:" +
	`\.\s*\??\s*(?:[A-Za-z_]\w*|` + "`[^`]*`" + `)|` + // .name, .?name
	`[A-Za-z_]\w*|` + "`[^`]*`|" +
	`[0-9][0-9a-zA-Z]*(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?)?|` +
	`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` +
	`==|!=|<=|>=|&&|\|\||.)`)
