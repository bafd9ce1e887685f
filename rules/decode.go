package rules

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
)

// Decode reads every YAML document in data. name is what findings call the
// source: a path, or configmap/NAMESPACE/NAME/KEY.
//
// The rules and CustomResourceDefinitions that were well formed are returned
// even when others were not, and the other rules as far as they could be read.
// The findings are all that was found, sorted.
func Decode(name string, data []byte) (Documents, diagnostic.Findings) {
	d := &decoder{src: newSource(name, data)}
	d.decode()
	return d.docs, d.findings.Findings(d.src.lineAt)
}

// DecodeObject is Decode for a Rule object as JSON or YAML. Its findings name the
// paths of fields: an object has no lines, and those of the file that it may have been
// applied from are not known. The annotation of kubectl apply has them in one line too.
func DecodeObject(name string, data []byte) (Documents, diagnostic.Findings) {
	d := &decoder{src: newSource(name, data)}
	d.src.paths = map[*yaml.Node]string{}
	d.decode()
	return d.docs, d.findings.Findings(d.src.lineAt)
}

// decoder turns nodes into rules.
type decoder struct {
	src *source
	// mixed is true where other documents may stand among the rules.
	mixed    bool
	docs     Documents
	findings diagnostic.List
}

func (d *decoder) decode() {
	for i, doc := range d.src.documents() {
		if i >= maxDocuments || len(d.findings) > maxRuleValues {
			d.findings.Report(d.src.outside(diagnostic.Position{File: d.src.name, Line: doc.first + 1, Column: 1}), diagnostic.CodeTooManyDocs,
				"the documents from here on are not read: there are more than %s, or too much is wrong in those before", diagnostic.Number(maxDocuments))
			return
		}
		nodes, finding := d.src.parse(doc)
		if finding != nil {
			if !d.mixed || d.src.mentionsRules(doc) {
				d.findings = append(d.findings, finding)
			}
			continue
		}
		for _, n := range nodes {
			b := &builder{src: d.src, findings: &d.findings, anchors: map[*yamlNode]*node{}}
			before := len(d.findings)
			if root := b.build(n, 0); root != nil {
				d.document(root, before)
			}
		}
	}
}

func (d *decoder) report(n *node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return d.findings.Report(d.src.at(n.yaml), code, format, args...)
}

// document decodes one document. before is the number of findings before it
// was built: with a finding of its own it is not returned as one that is well
// formed.
func (d *decoder) document(root *node, before int) {
	if root.kind == scalarNode && root.value == nil {
		return // a document with nothing in it, as between two lines of ---
	}
	if d.mixed && !concernsRules(root) {
		d.passOver(root, before)
		return
	}
	if root.kind != mappingNode {
		d.report(root, diagnostic.CodeNotMapping, "a document must be a mapping, and this is %s", root.what())
		return
	}
	apiVersion, kind := root.get("apiVersion"), root.get("kind")
	kindText, _ := kind.text()
	apiText, _ := apiVersion.text()
	switch {
	case apiVersion == nil || kind == nil:
		if !root.partial {
			d.report(root, diagnostic.CodeNoKind, "a document needs apiVersion and kind, here %s and %s", APIVersion, RuleKind)
		}
	case isCRD(apiText, kindText):
		d.crd(root, before)
	case kindText == "":
		d.report(kind, diagnostic.CodeNoKind, "kind must be a string, and is %s", kind.what())
	case kindText != RuleKind:
		d.report(kind, diagnostic.CodeForeignKind, "a document of kind %s; only %s and CustomResourceDefinition can stand here", shown(kind), RuleKind).
			WithHint("%s", diagnostic.DidYouMean(kindText, []string{RuleKind, "CustomResourceDefinition"}))
		if strings.HasPrefix(apiText, "kanon.dev/") {
			d.ruleDocument(root, before) // nothing else has that apiVersion
		}
	default:
		if apiText != APIVersion {
			d.report(apiVersion, diagnostic.CodeAPIVersion, "apiVersion of a %s must be %s, not %s", RuleKind, APIVersion, shown(apiVersion))
			if diagnostic.Distance(apiText, APIVersion) > 2 {
				return // other versions have other fields
			}
		}
		d.ruleDocument(root, before)
	}
}

func (d *decoder) ruleDocument(root *node, before int) {
	switch {
	case root.size > maxRuleValues && len(d.findings) > before: // it is wrong anyway
		return
	case root.size > maxRuleValues:
		d.report(root, diagnostic.CodeTooManyValues, "more than %s values once its aliases are followed", diagnostic.Number(maxRuleValues))
		return
	case root.expressions > maxExpressions:
		d.report(root, diagnostic.CodeTooManyValues, "more than %s expressions once its aliases are followed", diagnostic.Number(maxExpressions))
		return
	}
	rule := d.rule(root)
	if len(d.findings) == before {
		d.docs.Rules = append(d.docs.Rules, rule)
		return
	}
	rule.partial = true
	d.docs.Partial = append(d.docs.Partial, rule)
}

func isCRD(apiVersion, kind string) bool {
	return kind == "CustomResourceDefinition" && strings.HasPrefix(apiVersion, "apiextensions.k8s.io/")
}

func shown(n *node) string {
	if s, ok := n.text(); ok {
		return quoted(s)
	}
	return n.what()
}

func (d *decoder) crd(root *node, before int) {
	spec := root.get("spec")
	var missing []string
	need := func(path string, n *node) {
		if text, _ := n.text(); text == "" && (n == nil || n.kind == scalarNode || len(n.items) == 0) {
			missing = append(missing, path)
		}
	}
	need("metadata.name", root.get("metadata").get("name"))
	need("spec.group", spec.get("group"))
	need("spec.names.kind", spec.get("names").get("kind"))
	need("spec.versions", spec.get("versions"))
	if len(missing) > 0 && !root.partial {
		d.report(root, diagnostic.CodeBrokenCRD, "a CustomResourceDefinition needs %s", strings.Join(missing, ", "))
	}
	if len(d.findings) > before {
		return
	}
	object, _ := root.plain().(map[string]any)
	d.docs.CRDs = append(d.docs.CRDs, &unstructured.Unstructured{Object: object})
	d.docs.definitions = append(d.docs.definitions, definition{src: d.src, root: root})
}

func (d *decoder) rule(root *node) *Rule {
	r := &Rule{src: d.src, Position: d.src.at(root.yaml), hash: root.revision(), onRuleDeletion: OrphanChildren, pruneLimit: defaultPruneLimit}
	r.parent.pos = r.Position
	found := d.object(root, "", fields{
		"apiVersion": func(*node) {},
		"kind":       func(*node) {},
		"metadata":   func(n *node) { d.metadata(n, r) },
		"spec":       func(n *node) { d.spec(n, r) },
	}, "metadata", "spec")
	if found["spec"] && r.parent.node == nil && len(r.children) == 0 {
		r.openVariables, r.openLookups, r.openChildren = true, true, true // nothing is known of it
	}
	return r
}

func (d *decoder) metadata(n *node, r *Rule) {
	d.object(n, "metadata", fields{
		"name": func(n *node) {
			r.Position = d.src.at(n.yaml)
			r.Name = d.name(n, "metadata.name", validation.IsDNS1123Subdomain)
		},
		"namespace": func(n *node) {
			r.namespacePos = d.src.at(n.yaml)
			r.Namespace = d.name(n, "metadata.namespace", validation.IsDNS1123Label)
		},
		"labels":      func(n *node) { r.Labels = d.stringMap(n, "metadata.labels") },
		"annotations": func(n *node) { r.Annotations = d.stringMap(n, "metadata.annotations") },
	}, "name")
}

func (d *decoder) name(n *node, path string, check func(string) []string) string {
	s, ok := d.plainString(n, path)
	if !ok {
		return ""
	}
	if wrong := check(s); len(wrong) > 0 {
		d.report(n, diagnostic.CodeObjectName, "%s: %q is not a name that Kubernetes takes", path, s).
			WithHint("write lower case letters, digits and -, with a letter or digit at both ends")
	}
	return s
}

func (d *decoder) spec(n *node, r *Rule) {
	d.object(n, "spec", fields{
		"parent":          func(n *node) { d.parent(n, &r.parent) },
		"variables":       func(n *node) { r.variables, r.openVariables = d.variables(n, "spec.variables") },
		"lookups":         func(n *node) { d.lookups(n, r) },
		"children":        func(n *node) { d.children(n, r) },
		"patches":         func(n *node) { d.patches(n, r) },
		"status":          func(n *node) { r.status = d.status(n) },
		"finalize":        func(n *node) { d.finalize(n, r) },
		"suspend":         func(n *node) { r.Suspend = d.boolean(n, "spec.suspend") },
		"conditionPrefix": func(n *node) { r.ConditionPrefix = d.conditionPrefix(n) },
		"conditions":      func(n *node) { r.conditions = d.conditions(n) },
		"events":          func(n *node) { r.events = d.events(n) },
		"requeueAfter":    func(n *node) { r.requeueAfter = d.duration(n, "requeueAfter", minRequeue) },
		"onRuleDeletion":  func(n *node) { r.onRuleDeletion = d.onRuleDeletion(n) },
		"deleteWhen":      func(n *node) { r.deleteWhen = d.expression(n, "spec.deleteWhen") },
		"pruneLimit":      func(n *node) { r.pruneLimit = d.pruneLimit(n) },
		"minInterval":     func(n *node) { r.minInterval = d.duration(n, "minInterval", minPause) },
	}, "parent")
	r.openVariables = r.openVariables || slices.Contains(n.lost, "variables")
	r.openLookups = r.openLookups || slices.Contains(n.lost, "lookups")
	r.openChildren = r.openChildren || slices.Contains(n.lost, "children")
}

// status is nil where it can be no status.
func (d *decoder) status(n *node) *node {
	if n.kind == sequenceNode || n.kind == scalarNode && !isExpressionText(n) {
		d.report(n, diagnostic.CodeFieldType, "spec.status must be a mapping, or an expression that gives one")
		return nil
	}
	return n
}

func isExpressionText(n *node) bool {
	s, ok := n.text()
	return ok && hasExpression(s)
}

func (d *decoder) conditionPrefix(n *node) string {
	s, ok := d.plainString(n, "spec.conditionPrefix")
	if !ok || s == "" {
		return s
	}
	if wrong := validation.IsQualifiedName(s + "Ready"); len(wrong) > 0 || strings.Contains(s, "/") {
		d.report(n, diagnostic.CodeConditionPrefix, "spec.conditionPrefix must be letters and digits that can stand before Ready, such as Web")
	}
	return s
}

func (d *decoder) parent(n *node, p *parentSpec) {
	var apiVersion, kind string
	p.pos, p.node = d.src.at(n.yaml), n
	p.gaps = d.object(n, "spec.parent", fields{
		"apiVersion": func(n *node) { apiVersion, _ = d.plainString(n, "spec.parent.apiVersion") },
		"kind": func(n *node) {
			p.pos = d.src.at(n.yaml)
			kind, _ = d.plainString(n, "spec.parent.kind")
		},
		"selector":          func(n *node) { p.selector = d.selector(n, "spec.parent.selector") },
		"namespaceSelector": func(n *node) { p.namespaceSelector = d.selector(n, "spec.parent.namespaceSelector") },
		"namespaces": func(n *node) {
			for i, item := range d.list(n, "spec.parent.namespaces") {
				p.namespaces = append(p.namespaces, d.name(item, fmt.Sprintf("spec.parent.namespaces[%d]", i), validation.IsDNS1123Label))
			}
			if n.kind == sequenceNode && len(n.items) == 0 && !n.partial {
				d.report(n, diagnostic.CodeEmpty, "spec.parent.namespaces is empty, so no parent could match").WithHint("leave it out to mean all")
			}
		},
		"when": func(n *node) { p.when = d.expression(n, "spec.parent.when") },
	}, "apiVersion", "kind")
	p.gvk = d.gvk(n, "spec.parent", apiVersion, kind)
}

// gvk joins an apiVersion and a kind; both were reported if they are empty. It
// is empty where it is not known.
func (d *decoder) gvk(n *node, path, apiVersion, kind string) schema.GroupVersionKind {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || apiVersion != "" && gv.Version == "" {
		at := n.get("apiVersion")
		if at == nil {
			at = n // the field has another name by mistake
		}
		d.report(at, diagnostic.CodeGroupVersion, "%s.apiVersion must be VERSION or GROUP/VERSION, not %q", path, apiVersion)
	}
	if err != nil || gv.Version == "" || kind == "" {
		return schema.GroupVersionKind{}
	}
	return gv.WithKind(kind)
}
