package secrets

import (
	"regexp"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

var (
	anyKind    = regexp.MustCompile(`\bkind["']?\s*:`)
	secretKind = regexp.MustCompile(`\bkind["']?\s*:\s*["']?Secret\b`)
	// visible matches what stays visible of a line that may have a value of a Secret: names of fields, apiVersion and kind with their
	// values, and the punctuation of YAML.
	visible = regexp.MustCompile(`\b(?:apiVersion|kind)["']?\s*:\s*["']?[\w./]+|(?:^\s*(?:- )*|[{,]\s*)["']?[A-Za-z][\w.-]*["']?\s*:(?:\s|$)|\$\{|[\s{}\[\],:|>"'-]`)
)

// HideLine hides the parts of a line that may be values of a Secret. The text is no YAML, so only the indentation shows which lines
// belong to an object.
func HideLine(src *yamltree.Source, at diagnostic.Position) { src.HideUnread(at, valuesIn) }

// valuesIn returns the parts of a line that may be values of a Secret, in bytes.
func valuesIn(lines []string, at int) (hidden [][2]int) {
	if !isInSecret(lines, at) {
		return nil
	}
	begin := 0
	for _, shown := range visible.FindAllStringIndex(lines[at], -1) {
		if begin < shown[0] {
			hidden = append(hidden, [2]int{begin, shown[0]})
		}
		begin = shown[1]
	}
	return append(hidden, [2]int{begin, len(lines[at])})
}

// isInSecret reports whether a line belongs to a Secret. The nearest list item around it that has a kind decides; without such an item,
// the document does.
func isInSecret(lines []string, at int) bool {
	indent, inner := indentOf(lines[at])+1, at
	for first := at; first >= 0 && !isDocumentStart(lines[first]); first-- {
		line := lines[first]
		if indentOf(line) >= indent || strings.TrimSpace(line) == "" {
			continue
		}
		indent, inner = indentOf(line), first
		if !strings.HasPrefix(strings.TrimLeft(line, " "), "- ") {
			continue
		}
		if item := strings.Join(lines[first:endOfItem(lines, first)], "\n"); anyKind.MatchString(item) {
			return secretKind.MatchString(item)
		}
	}
	// No item has a kind. inner is the field of the document that contains the line; the document's kind is beside it.
	for first := inner; first >= 0 && !isDocumentStart(lines[first]); first-- {
		if indentOf(lines[first]) == indent && secretKind.MatchString(lines[first]) {
			return true
		}
	}
	for last := inner; last < len(lines) && !isDocumentStart(lines[last]); last++ {
		if indentOf(lines[last]) == indent && secretKind.MatchString(lines[last]) {
			return true
		}
	}
	return false
}

// endOfItem is the index of the line after the list item that begins at first.
func endOfItem(lines []string, first int) int {
	for i := first + 1; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) != "" && indentOf(lines[i]) <= indentOf(lines[first]) {
			return i
		}
	}
	return len(lines)
}

// indentOf is the number of blanks with which a line begins.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func isDocumentStart(line string) bool { return strings.TrimSpace(line) == "---" }
