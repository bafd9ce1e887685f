package celenv

import (
	"regexp"
	"strings"
)

// TokenStart is where the word begins that an offset is about: for CEL, a call is at its bracket, and for people at the name of the
// function.
func TokenStart(text string, offset int) int {
	if offset <= 0 || offset >= len(text) || text[offset] != '(' {
		return offset
	}
	return offset - len(name.FindString(text[:offset]))
}

// name is a name at the end of a text.
var name = regexp.MustCompile(`[A-Za-z_]\w*$`)

// TokenLength is how many bytes of an expression the word, the number, the text, the field, the index or the operator takes that begins at
// an offset. Within the quotes of an index, it is all up to the closing one.
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

// isOperand is a text that ends with what an index can follow, and index is one without another one in it.
var (
	isOperand = regexp.MustCompile("[\\w\\])}`]$")
	index     = regexp.MustCompile(`^\[[^\[\]]*\]`)
)

// token is a token of CEL. A field has the dot before it.
var token = regexp.MustCompile("^(?:" +
	`\.\s*\??\s*(?:[A-Za-z_]\w*|` + "`[^`]*`" + `)|` + // .name, .?name
	`[A-Za-z_]\w*|` + "`[^`]*`|" +
	`[0-9][0-9a-zA-Z]*(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?)?|` +
	`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` +
	`==|!=|<=|>=|&&|\|\||.)`)
