package rules

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
)

// DecodeManifest is Decode for a file as its author keeps it. Besides rules and
// CustomResourceDefinitions it may hold ConfigMaps with rules, of which every key
// that ends in .yaml or .yml is decoded, with or without the label that the engine
// asks for, and documents of other kinds, which are passed over. Positions are
// those in the file, also within the ConfigMaps: exact in block strings, and in
// quoted strings as far as text and value can be laid over one another.
func DecodeManifest(name string, data []byte) (Documents, diagnostic.Findings) {
	d := &decoder{src: newSource(name, data), mixed: true}
	d.decode()
	return d.docs, d.findings.Findings(d.src.lineAt)
}

// labelRules marks the ConfigMaps of which the engine takes everything for
// rules.
const labelRules = "kanon.dev/rules"

// concernsRules says whether a document among others is meant for Kanon: a rule,
// however misspelt, or a CustomResourceDefinition.
func concernsRules(root *node) bool {
	apiVersion, _ := root.get("apiVersion").text()
	kind, _ := root.get("kind").text()
	group, _, _ := strings.Cut(apiVersion, "/")
	return isCRD(apiVersion, kind) || strings.HasPrefix(apiVersion, "kanon.dev") || diagnostic.Distance(group, "kanon.dev") <= 2 ||
		kind == RuleKind && apiVersion == "" || root.get("apiVersion") == nil && looksLikeRule(root.get("spec"))
}

// looksLikeRule says whether a mapping has what only a rule's spec has.
func looksLikeRule(spec *node) bool {
	return spec.get("parent").get("kind") != nil && (spec.get("children") != nil || spec.get("status") != nil)
}

// mentionsRules says whether a document that does not parse is meant for Kanon.
func (s *source) mentionsRules(d document) bool {
	return slices.ContainsFunc(s.lines[d.first:d.last], func(line string) bool {
		return strings.Contains(line, "kanon.dev/") || strings.TrimSpace(line) == "kind: "+RuleKind
	})
}

// passOver takes the rules out of a document of another kind that may hold some:
// a ConfigMap, or a list such as kubectl prints.
func (d *decoder) passOver(root *node, before int) {
	kind, _ := root.get("kind").text()
	if apiVersion, _ := root.get("apiVersion").text(); apiVersion != "v1" || kind != "List" {
		d.findings = d.findings[:before] // what is wrong in it is not ours to say
	}
	switch apiVersion, _ := root.get("apiVersion").text(); {
	case apiVersion != "v1":
	case kind == "ConfigMap":
		d.configMap(root)
	case kind == "List":
		if items := root.get("items"); items != nil {
			for _, item := range items.items {
				d.document(item, before)
			}
		}
	}
}

// configMap decodes the texts in a ConfigMap. Where it has the engine's label
// all of them are taken for rules.
func (d *decoder) configMap(root *node) {
	data := root.get("data")
	if data == nil || data.kind != mappingNode {
		return
	}
	label, _ := root.get("metadata").get("labels").get(labelRules).text()
	for _, f := range data.fields {
		text, ok := f.value.text()
		if !ok || !strings.HasSuffix(f.name, ".yaml") && !strings.HasSuffix(f.name, ".yml") {
			continue
		}
		src := newSource(d.src.name, []byte(text))
		src.outer, src.holder = d.src, f.value.yaml
		inner := &decoder{src: src, mixed: label != "true"}
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
