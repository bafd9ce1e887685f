package syntax

import (
	"regexp"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// notValues are the fields of a Secret, of a lookup and of a target that never contain a value of a Secret.
func notValues() []string {
	return []string{
		"apiVersion", "kind", "metadata", "type", "immutable",
		"id", "name", "namespace", "selector", "optional", "when", "forEach", "variables",
	}
}

// hideAllSecrets hides the values of Secrets in all documents of a source, whatever their kind. In a document that is no YAML, it decides by
// the lines.
func hideAllSecrets(src *yamltree.Source) {
	for _, doc := range src.Documents() {
		nodes, finding := src.Parse(doc)
		if finding != nil {
			for i := range src.LinesOf(doc) {
				hideSecretLine(src, diagnostic.Position{Line: src.Start(doc).Line + i, Column: 1})
			}
		}
		for _, n := range nodes {
			if root := src.Build(n, &diagnostic.List{}); root != nil {
				hideSecrets(src, root)
			}
		}
	}
}

// hideSecrets hides what the mappings of kind Secret below a node contain, wherever they are by mistake. Expressions stay visible, without the
// string literals in them.
func hideSecrets(src *yamltree.Source, n *yamltree.Node) {
	for n := range n.All() {
		if kind, _ := n.Get("kind").Text(); diagnostic.Distance(kind, "Secret") <= 1 { // it may be misspelt
			hideValues(src, n)
		}
	}
}

// hideValues hides what a template writes into a Secret. An unknown field counts as one with values: its name may be misspelt.
func hideValues(src *yamltree.Source, template *yamltree.Node) {
	for _, field := range template.Entries() {
		if slices.Contains(notValues(), field.Name) {
			continue
		}
		for n, isKey := range field.Value.All() {
			if !isKey && n.Kind == yamltree.Scalar && n.Value != nil {
				hideText(src, n)
			}
		}
	}
}

// hideText hides a scalar except for its expressions.
func hideText(src *yamltree.Source, n *yamltree.Node) {
	text := n.Raw()
	parts, err := yamltree.Scan(text)
	if err != nil {
		src.Hide(n, 0, len(text))
		return
	}
	begin := 0 // of the text that is not in an expression
	for _, part := range parts {
		if !part.Expr {
			continue
		}
		src.Hide(n, begin, strings.LastIndex(text[:part.Offset], "${"))
		for _, quoted := range yamltree.StringLiterals(part.Text) {
			if !isKey(part.Text, quoted) {
				src.Hide(n, part.Offset+quoted[0], part.Offset+quoted[1])
			}
		}
		end := part.Offset + len(part.Text)
		begin = end + strings.Index(text[end:], "}") + 1
	}
	src.Hide(n, begin, len(text))
}

// isKey reports whether a string literal of an expression is a key, as in lookups.db.data["password"]. quoted has its first and last byte.
func isKey(expression string, quoted [2]int) bool {
	before, ok := strings.CutSuffix(strings.TrimSuffix(expression[:quoted[0]], "?"), "[")
	if !ok || before == "" || !strings.HasPrefix(expression[quoted[1]:], "]") {
		return false
	}
	last := before[len(before)-1]
	return last == ')' || last == ']' || yamltree.IsNameByte(last)
}

var (
	secretKind = regexp.MustCompile(`\bkind["']?\s*:\s*["']?Secret\b`)
	// visible matches what stays visible of a line that may have a value of a Secret: names of fields, apiVersion and kind with their
	// values, and the punctuation of YAML.
	visible = regexp.MustCompile(`\b(?:apiVersion|kind)["']?\s*:\s*["']?[\w./]+|(?:^\s*(?:- )*|[{,]\s*)["']?[A-Za-z][\w.-]*["']?\s*:(?:\s|$)|\$\{|[\s{}\[\],:|>"'-]`)
)

// hideSecretLine hides what may be the value of a Secret in a line of a document that is no YAML: all values, if the document mentions a
// Secret.
func hideSecretLine(src *yamltree.Source, at diagnostic.Position) { src.HideUnread(at, valuesIn) }

// valuesIn returns the parts of a line that may be values of a Secret, in bytes.
func valuesIn(lines []string, at int) (hidden [][2]int) {
	isStart := func(line string) bool { return strings.TrimSpace(line) == "---" }
	first, last := at, at+1
	for first > 0 && !isStart(lines[first]) {
		first--
	}
	for last < len(lines) && !isStart(lines[last]) {
		last++
	}
	if !slices.ContainsFunc(lines[first:last], secretKind.MatchString) {
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
