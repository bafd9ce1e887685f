package syntax

import (
	"regexp"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// besideSecrets are the fields of a Secret, a lookup and a target that have no value of a Secret.
func besideSecrets() []string {
	return []string{
		"apiVersion", "kind", "metadata", "type", "immutable",
		"id", "name", "namespace", "selector", "optional", "when", "forEach", "variables",
	}
}

// hideSecrets hides what a rule writes into Secrets from those who are shown lines of it, as a log or a pipeline has them: below a node,
// in each mapping that has the kind, wherever it is by mistake. Expressions stay, without the texts in them.
func (d *decoder) hideSecrets(n *yamltree.Node) {
	if kind, _ := n.Get("kind").Text(); diagnostic.Distance(kind, "Secret") <= 1 { // it may be misspelt
		d.hideValues(n)
	}
	for _, field := range n.Entries() {
		d.hideSecrets(field.Value)
	}
	for _, item := range n.Items {
		d.hideSecrets(item)
	}
}

// hideValues hides what a template writes into a Secret. A field that is misspelt may have been meant for values.
func (d *decoder) hideValues(template *yamltree.Node) {
	for _, field := range template.Entries() {
		if !slices.Contains(besideSecrets(), field.Name) {
			d.hideBelow(field.Value)
		}
	}
}

func (d *decoder) hideBelow(n *yamltree.Node) {
	for _, field := range n.Entries() {
		d.hideBelow(field.Value)
	}
	for _, item := range n.Items {
		d.hideBelow(item)
	}
	if n.Kind == yamltree.Scalar && n.Value != nil {
		d.hideText(n)
	}
}

// hideText hides a scalar but for its expressions.
func (d *decoder) hideText(n *yamltree.Node) {
	text := n.Raw()
	parts, err := scanner.Scan(text)
	if err != nil {
		d.src.Hide(n, 0, len(text))
		return
	}
	begin := 0 // of the text that is not in an expression
	for _, part := range parts {
		if !part.Expr {
			continue
		}
		d.src.Hide(n, begin, strings.LastIndex(text[:part.Offset], "${"))
		for _, quoted := range scanner.Strings(part.Text) {
			if !isKey(part.Text, quoted) {
				d.src.Hide(n, part.Offset+quoted[0], part.Offset+quoted[1])
			}
		}
		end := part.Offset + len(part.Text)
		begin = end + strings.Index(text[end:], "}") + 1
	}
	d.src.Hide(n, begin, len(text))
}

// isKey reports whether a string of an expression is a key, as in lookups.db.data["password"].
func isKey(expression string, quoted [2]int) bool {
	before, ok := strings.CutSuffix(strings.TrimSuffix(expression[:quoted[0]], "?"), "[")
	if !ok || before == "" || !strings.HasPrefix(expression[quoted[1]:], "]") {
		return false
	}
	last := before[len(before)-1]
	return last == ')' || last == ']' || scanner.IsNameByte(last)
}

var (
	anyKind    = regexp.MustCompile(`\bkind["']?\s*:`)
	secretKind = regexp.MustCompile(`\bkind["']?\s*:\s*["']?Secret\b`)
	// shownInSecrets is what is shown of a line that may have a value of a Secret: names of fields, its kind, and what YAML
	// has between them.
	shownInSecrets = regexp.MustCompile(`\b(?:apiVersion|kind)["']?\s*:\s*["']?[\w./]+|(?:^\s*(?:- )*|[{,]\s*)["']?[A-Za-z][\w.-]*["']?\s*:(?:\s|$)|\$\{|[\s{}\[\],:|>"'-]`)
)

// secretParts are the parts of a line that may be values of a Secret, if the line is in an item of a list that has one, such as a child
// of a rule, or in an object that is one. The lines are no YAML, so that only their indentation tells what belongs together.
func secretParts(lines []string, at int) (hidden [][2]int) {
	if !isInSecret(lines, at) {
		return nil
	}
	begin := 0
	for _, shown := range shownInSecrets.FindAllStringIndex(lines[at], -1) {
		if begin < shown[0] {
			hidden = append(hidden, [2]int{begin, shown[0]})
		}
		begin = shown[1]
	}
	return append(hidden, [2]int{begin, len(lines[at])})
}

// isInSecret reports whether the nearest item of a list around a line that has a kind has that of a Secret, or the document has it outside
// of lists.
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
	// No item has it: inner is the field of the document that the line is in, beside which its kind is.
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

// endOfItem is the line after the item of a list that begins at a line.
func endOfItem(lines []string, first int) int {
	for i := first + 1; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) != "" && indentOf(lines[i]) <= indentOf(lines[first]) {
			return i
		}
	}
	return len(lines)
}

// indentOf is how many blanks a line begins with.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func isDocumentStart(line string) bool { return strings.TrimSpace(line) == "---" }
