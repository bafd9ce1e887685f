package syntax

import (
	"regexp"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// DecodeManifest is Decode for a file as its author keeps it. It skips other documents. It decodes the rules in
// ConfigMaps: each key that ends in .yaml or .yml, with or without the label that the engine selects. Positions are
// those in the file. Inside of a ConfigMap they are exact in block strings, and in quoted strings as long as text and
// value match.
func DecodeManifest(name string, data []byte) (Documents, diagnostic.Findings) {
	return (&decoder{src: yamltree.New(name, data), mixed: true}).result()
}

// labelRules is the label of a ConfigMap whose keys are all rules.
const labelRules = "kanon.dev/rules"

// concernsRules reports whether a document is meant for Kanon: a rule, even a misspelt one, or a
// CustomResourceDefinition.
func concernsRules(root *yamltree.Node) bool {
	apiVersion, _ := root.Get("apiVersion").Text()
	kind, _ := root.Get("kind").Text()
	group, _, _ := strings.Cut(apiVersion, "/")
	return isCRD(apiVersion, kind) || strings.HasPrefix(apiVersion, "kanon.dev") || diagnostic.Distance(group, "kanon.dev") <= 2 ||
		kind == RuleKind && apiVersion == "" || root.Get("apiVersion") == nil && looksLikeRule(root.Get("spec"))
}

// isOtherKind reports whether a document is certainly an object of another kind: it says which, and has nothing of a
// rule. A ConfigMap of rules is not.
func isOtherKind(root *yamltree.Node) bool {
	apiVersion, _ := root.Get("apiVersion").Text()
	kind, _ := root.Get("kind").Text()
	return apiVersion != "" && kind != "" && !root.Partial && !concernsRules(root) && !looksLikeRule(root.Get("spec")) &&
		root.Get("metadata").Get("labels").Get(labelRules) == nil
}

// looksLikeRule reports whether a mapping has fields that only the spec of a rule has.
func looksLikeRule(spec *yamltree.Node) bool {
	return spec.Get("parent").Get("kind") != nil && (spec.Get("children") != nil || spec.Get("status") != nil)
}

// mentionsRules reports whether a document that does not parse is meant for Kanon.
func mentionsRules(lines []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		return strings.Contains(line, "kanon.dev/") || strings.TrimSpace(line) == "kind: "+RuleKind
	})
}

// containsRules reports whether a document may contain rules, as a List or a ConfigMap does.
func containsRules(lines []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, APIVersion) })
}

// passOver decodes the rules in a document of another kind that may contain some: a ConfigMap, or a List as kubectl
// prints it.
func (d *decoder) passOver(root *yamltree.Node, before int) {
	kind, _ := root.Get("kind").Text()
	if apiVersion, _ := root.Get("apiVersion").Text(); apiVersion != "v1" || kind != "List" {
		d.findings = d.findings[:before] // what is wrong in it is not ours to say
	}
	switch apiVersion, _ := root.Get("apiVersion").Text(); {
	case apiVersion != "v1":
	case kind == "ConfigMap":
		d.configMap(root)
	case kind == "List":
		if items := root.Get("items"); items != nil {
			for _, item := range items.Items {
				d.document(item, before)
			}
		}
	}
}

// configMap decodes the texts in a ConfigMap. With the engine's label, every document in them must be a rule.
func (d *decoder) configMap(root *yamltree.Node) {
	data := root.Get("data")
	if data == nil || data.Kind != yamltree.Mapping {
		return
	}
	label, _ := root.Get("metadata").Get("labels").Get(labelRules).Text()
	for _, f := range data.Fields {
		if _, ok := f.Value.Text(); !ok || !strings.HasSuffix(f.Name, ".yaml") && !strings.HasSuffix(f.Name, ".yml") {
			continue
		}
		inner := &decoder{src: d.src.Inner(f.Value), mixed: label != "true"}
		inner.decode()
		d.findings = append(d.findings, inner.findings...)
		d.docs.add(inner.docs)
	}
}

func (docs *Documents) add(more Documents) {
	docs.Rules = append(docs.Rules, more.Rules...)
	docs.Partial = append(docs.Partial, more.Partial...)
	docs.CRDs = append(docs.CRDs, more.CRDs...)
	docs.definitions = append(docs.definitions, more.definitions...)
}

// booleanWords are booleans without quotes in YAML 1.1, which kubectl reads, and text in YAML 1.2.
var booleanWords = []string{ //nolint:gochecknoglobals // a table
	"y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF",
}

// booleanWordsIn are the keys and values below a node that kubectl reads as booleans, and Kanon as text.
func booleanWordsIn(n *yamltree.Node) []*yamltree.Node {
	var found []*yamltree.Node
	for n := range n.All() {
		if text, ok := n.Text(); ok && n.IsPlain() && slices.Contains(booleanWords, text) {
			found = append(found, n)
		}
	}
	return found
}

// Shown is the text of a file for people, as in a diff. It hides what rules write into Secrets, and the values of Secrets beside the
// rules. All other characters stay at their line and column.
func Shown(data []byte) []byte {
	d := &decoder{src: yamltree.New("", data), mixed: true}
	d.decode()
	hideAllSecrets(d.src)
	var out strings.Builder
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		at := diagnostic.Position{Line: number, Column: 1}
		if shown := d.src.ShownAt(at); shown != d.src.LineAt(at) {
			line = strings.TrimRight(shown, "\r\n") + line[len(strings.TrimRight(line, "\r\n")):]
		}
		out.WriteString(line)
	}
	return []byte(out.String())
}

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
