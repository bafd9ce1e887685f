package syntax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/secrets"
	"kanon.dev/kanon/rules/yamltree"
)

// Decode decodes every YAML document in data. name is the name of the source in findings: a path, or
// configmap/NAMESPACE/NAME/KEY.
//
// A rule or a CustomResourceDefinition without mistakes is returned even if others have some, and a rule with mistakes
// as far as it could be read. The findings are sorted.
func Decode(name string, data []byte) (Documents, diagnostic.Findings) {
	return (&decoder{src: yamltree.New(name, data)}).result()
}

// DecodeFile is Decode for a file that may have other documents beside rules, such as parents. It skips those. It does
// not skip a document that does not say its kind, does not parse, has the fields of a rule or contains one, as a List
// does: a rule that is skipped by mistake would count as removed.
func DecodeFile(name string, data []byte) (Documents, diagnostic.Findings) {
	return (&decoder{src: yamltree.New(name, data), file: true}).result()
}

// DecodeObject is Decode for a Rule object as JSON or YAML. Its findings have paths instead of lines, because an object
// has no lines, and those of the file that it came from are not known.
func DecodeObject(name string, data []byte) (Documents, diagnostic.Findings) {
	return (&decoder{src: yamltree.NewObject(name, data)}).result()
}

const (
	// maxRuleValues bounds the nodes of a rule, and maxExpressions its expressions. Both are ten times the largest
	// rules.
	maxRuleValues, maxExpressions = 20_000, 5_000
)

// decoder turns nodes into rules.
type decoder struct {
	src *yamltree.Source
	// mixed is true if there may be other documents among the rules, and ConfigMaps and Lists that contain rules.
	mixed bool
	// file is true if documents that are certainly of other kinds are skipped.
	file     bool
	docs     Documents
	findings diagnostic.List
}

func (d *decoder) result() (Documents, diagnostic.Findings) {
	d.decode()
	return d.docs, d.findings.Findings(d.src)
}

func (d *decoder) decode() {
	for i, doc := range d.src.Documents() {
		if i >= yamltree.MaxDocuments || len(d.findings) > maxRuleValues {
			d.findings.Report(d.src.Start(doc), diagnostic.CodeTooManyDocs,
				"the documents from here on are not read: there are more than %s, or too much is wrong in those before", diagnostic.Number(yamltree.MaxDocuments))
			return
		}
		nodes, finding := d.src.Parse(doc)
		if finding != nil {
			if !d.mixed || mentionsRules(d.src.LinesOf(doc)) {
				secrets.HideLine(d.src, finding.Position)
				d.findings = append(d.findings, finding)
			}
			continue
		}
		skips := d.file && !containsRules(d.src.LinesOf(doc))
		for _, n := range nodes {
			before := len(d.findings)
			root := d.src.Build(n, &d.findings)
			if root == nil || skips && len(d.findings) == before && isOtherKind(root) {
				continue
			}
			d.document(root, before)
		}
	}
}

func (d *decoder) report(n *yamltree.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return d.findings.Report(d.src.At(n), code, format, args...).About(n.Kind == yamltree.Scalar)
}

// document decodes one document. before is the number of findings before it was built: if there are more at the end,
// the document is partial.
func (d *decoder) document(root *yamltree.Node, before int) {
	if root.Kind == yamltree.Scalar && root.Value == nil {
		return // a document with nothing in it, as between two lines of ---
	}
	if d.mixed && !concernsRules(root) {
		d.passOver(root, before)
		return
	}
	if root.Kind != yamltree.Mapping {
		d.report(root, diagnostic.CodeNotMapping, "a document must be a mapping, and this is %s", root.What())
		return
	}
	apiVersion, kind := root.Get("apiVersion"), root.Get("kind")
	kindText, _ := kind.Text()
	apiText, _ := apiVersion.Text()
	switch {
	case kindText == TestKind && apiText == APIVersion:
		d.findings = d.findings[:before] // kanon test reads it
	case apiVersion == nil || kind == nil:
		if !root.Partial {
			d.report(root, diagnostic.CodeNoKind, "a document needs apiVersion and kind, here %s and %s", APIVersion, RuleKind)
		}
	case isCRD(apiText, kindText):
		d.crd(root, before)
	case kindText == "":
		d.report(kind, diagnostic.CodeNoKind, "kind must be a string, and is %s", kind.What())
	case kindText != RuleKind:
		d.report(kind, diagnostic.CodeForeignKind, "a document of kind %s; only %s and CustomResourceDefinition are allowed here", shown(kind), RuleKind).
			Suggest(kindText, []string{RuleKind, "CustomResourceDefinition"})
		if strings.HasPrefix(apiText, "kanon.dev/") {
			d.ruleDocument(root, before) // nothing else has that apiVersion
		}
	default:
		if apiText != APIVersion {
			f := d.report(apiVersion, diagnostic.CodeAPIVersion, "apiVersion of a %s must be %s, not %s", RuleKind, APIVersion, shown(apiVersion))
			if apiVersion.Kind == yamltree.Scalar {
				f.WithEdit(f.Position, apiVersion.Raw(), APIVersion)
			}
			if diagnostic.Distance(apiText, APIVersion) > 2 {
				return // other versions have other fields
			}
		}
		d.ruleDocument(root, before)
	}
}

func (d *decoder) ruleDocument(root *yamltree.Node, before int) {
	switch {
	case root.Size > maxRuleValues && len(d.findings) > before: // it is wrong anyway
		return
	case root.Size > maxRuleValues:
		d.report(root, diagnostic.CodeTooManyValues, "more than %s values once its aliases are followed", diagnostic.Number(maxRuleValues))
		return
	case root.Expressions > maxExpressions:
		d.report(root, diagnostic.CodeTooManyValues, "more than %s expressions once its aliases are followed", diagnostic.Number(maxExpressions))
		return
	}
	rule := d.rule(root)
	if len(d.findings) == before {
		d.docs.Rules = append(d.docs.Rules, rule)
		return
	}
	rule.Partial = true
	d.docs.Partial = append(d.docs.Partial, rule)
}

func isCRD(apiVersion, kind string) bool {
	return kind == "CustomResourceDefinition" && strings.HasPrefix(apiVersion, "apiextensions.k8s.io/")
}

func shown(n *yamltree.Node) string {
	if s, ok := n.Text(); ok {
		return strconv.Quote(s)
	}
	return n.What()
}

func (d *decoder) crd(root *yamltree.Node, before int) {
	spec := root.Get("spec")
	var missing []string
	need := func(path string, n *yamltree.Node) {
		if text, _ := n.Text(); text == "" && (n == nil || n.Kind == yamltree.Scalar || len(n.Items) == 0) {
			missing = append(missing, path)
		}
	}
	need("metadata.name", root.Get("metadata").Get("name"))
	need("spec.group", spec.Get("group"))
	need("spec.names.kind", spec.Get("names").Get("kind"))
	need("spec.versions", spec.Get("versions"))
	if len(missing) > 0 && !root.Partial {
		d.report(root, diagnostic.CodeBrokenCRD, "a CustomResourceDefinition needs %s", strings.Join(missing, ", "))
	}
	if len(d.findings) > before {
		return
	}
	object, _ := root.Plain().(map[string]any)
	d.docs.CRDs = append(d.docs.CRDs, &unstructured.Unstructured{Object: object})
	d.docs.definitions = append(d.docs.definitions, definition{src: d.src, root: root})
}

func (d *decoder) rule(root *yamltree.Node) *Rule {
	r := &Rule{Source: d.src, Position: d.src.At(root), hash: revision(root), onRuleDeletion: OrphanChildren, PruneLimit: defaultPruneLimit}
	r.Parent.Pos = r.Position
	secrets.Hide(d.src, root)
	found := d.object(root, "", language.Document().Fields, decoders{
		"apiVersion": func(*yamltree.Node) {},
		"kind":       func(*yamltree.Node) {},
		"metadata":   func(n *yamltree.Node) { d.metadata(n, r) },
		"spec":       func(n *yamltree.Node) { d.spec(n, r) },
	})
	if d.src.IsFile() {
		r.BooleanWords = slices.DeleteFunc(booleanWordsIn(root), func(n *yamltree.Node) bool { return d.isReported(d.src.At(n)) })
	}
	if found["spec"] && r.Parent.Node == nil && len(r.Children) == 0 {
		r.OpenVariables, r.OpenLookups, r.OpenChildren = true, true, true // nothing is known of it
	}
	return r
}

// isReported reports whether there is a finding at a position.
func (d *decoder) isReported(pos diagnostic.Position) bool {
	return slices.ContainsFunc(d.findings, func(f *diagnostic.Finding) bool { return f.Position == pos })
}

func (d *decoder) metadata(n *yamltree.Node, r *Rule) {
	d.object(n, "metadata", language.Metadata(), decoders{
		"name": func(n *yamltree.Node) {
			r.Position = d.src.At(n)
			r.Name = d.name(n, "metadata.name", validation.IsDNS1123Subdomain)
		},
		"namespace": func(n *yamltree.Node) {
			r.NamespacePos = d.src.At(n)
			r.Namespace = d.name(n, "metadata.namespace", validation.IsDNS1123Label)
		},
		"labels":      func(n *yamltree.Node) { r.Labels = d.stringMap(n, "metadata.labels") },
		"annotations": func(n *yamltree.Node) { r.Annotations = d.stringMap(n, "metadata.annotations") },
	})
}

func (d *decoder) name(n *yamltree.Node, path string, check func(string) []string) string {
	s, ok := d.plainString(n, path)
	if !ok {
		return ""
	}
	if wrong := check(s); len(wrong) > 0 {
		d.report(n, diagnostic.CodeObjectName, "%s: %q is not a name that Kubernetes accepts", path, s).
			WithHint("write lower case letters, digits and -, with a letter or digit at both ends")
	}
	return s
}

func (d *decoder) spec(n *yamltree.Node, r *Rule) {
	d.object(n, "spec", language.Spec(), decoders{
		"parent":    func(n *yamltree.Node) { d.parent(n, &r.Parent) },
		"variables": func(n *yamltree.Node) { r.Variables, r.OpenVariables = d.variables(n, "spec.variables") },
		"lookups":   func(n *yamltree.Node) { d.lookups(n, r) },
		"children":  func(n *yamltree.Node) { d.children(n, r) },
		"patches":   func(n *yamltree.Node) { d.patches(n, r) },
		"status":    func(n *yamltree.Node) { r.Status = d.status(n) },
		"finalize":  func(n *yamltree.Node) { d.finalize(n, r) },
		"serviceAccountName": func(n *yamltree.Node) {
			r.ServiceAccountName = d.name(n, "spec.serviceAccountName", validation.IsDNS1123Subdomain)
		},
		"allowPrivileged": func(n *yamltree.Node) {
			r.AllowPrivileged, r.AllowPrivilegedPos = d.boolean(n, "spec.allowPrivileged"), d.src.At(n)
		},
		"suspend":         func(n *yamltree.Node) { r.Suspend = d.boolean(n, "spec.suspend") },
		"conditionPrefix": func(n *yamltree.Node) { r.ConditionPrefix = d.conditionPrefix(n) },
		"conditions":      func(n *yamltree.Node) { r.Conditions = d.conditions(n) },
		"events":          func(n *yamltree.Node) { r.Events = d.events(n) },
		"requeueAfter":    func(n *yamltree.Node) { r.RequeueAfter = d.duration(n, "requeueAfter", minRequeue) },
		"onRuleDeletion":  func(n *yamltree.Node) { r.onRuleDeletion = d.onRuleDeletion(n) },
		"deleteWhen":      func(n *yamltree.Node) { r.DeleteWhen = d.expression(n, "spec.deleteWhen") },
		"pruneLimit":      func(n *yamltree.Node) { r.PruneLimit = d.pruneLimit(n) },
		"minInterval":     func(n *yamltree.Node) { r.MinInterval = d.duration(n, "minInterval", minPause) },
	})
	if r.Parent.schema != nil {
		d.kindSchema(r.Parent.schema, r)
	}
	r.OpenVariables = r.OpenVariables || slices.Contains(n.Lost, "variables")
	r.OpenLookups = r.OpenLookups || slices.Contains(n.Lost, "lookups")
	r.OpenChildren = r.OpenChildren || slices.Contains(n.Lost, "children")
}

// status is nil if the node cannot be a status.
func (d *decoder) status(n *yamltree.Node) *yamltree.Node {
	if n.Kind == yamltree.Sequence || n.Kind == yamltree.Scalar && !IsExpressionText(n) {
		d.report(n, diagnostic.CodeFieldType, "spec.status must be a mapping, or an expression that gives one")
		return nil
	}
	return n
}

// IsExpressionText reports whether a node is text that contains an expression.
func IsExpressionText(n *yamltree.Node) bool {
	s, ok := n.Text()
	return ok && scanner.HasExpression(s)
}

func (d *decoder) conditionPrefix(n *yamltree.Node) string {
	s, ok := d.plainString(n, "spec.conditionPrefix")
	if !ok || s == "" {
		return s
	}
	if wrong := validation.IsQualifiedName(s + "Ready"); len(wrong) > 0 || strings.Contains(s, "/") {
		d.report(n, diagnostic.CodeConditionPrefix, "spec.conditionPrefix must be letters and digits that can come before Ready, such as Web")
	}
	return s
}

func (d *decoder) parent(n *yamltree.Node, p *Parent) {
	var apiVersion, kind string
	p.Pos, p.Node = d.src.At(n), n
	p.Gaps = d.object(n, "spec.parent", language.Parent(), decoders{
		"apiVersion": func(n *yamltree.Node) { apiVersion, _ = d.plainString(n, "spec.parent.apiVersion") },
		"kind": func(n *yamltree.Node) {
			p.Pos = d.src.At(n)
			kind, _ = d.plainString(n, "spec.parent.kind")
		},
		"selector":          func(n *yamltree.Node) { p.Selector = d.selector(n, "spec.parent.selector") },
		"namespaceSelector": func(n *yamltree.Node) { p.NamespaceSelector = d.selector(n, "spec.parent.namespaceSelector") },
		"namespaces": func(n *yamltree.Node) {
			for i, item := range d.list(n, "spec.parent.namespaces") {
				p.Namespaces = append(p.Namespaces, d.name(item, fmt.Sprintf("spec.parent.namespaces[%d]", i), validation.IsDNS1123Label))
			}
			if n.Kind == yamltree.Sequence && len(n.Items) == 0 && !n.Partial {
				d.report(n, diagnostic.CodeEmpty, "spec.parent.namespaces is empty, so no parent could match").WithHint("leave it out to mean all")
			}
		},
		"when":   func(n *yamltree.Node) { p.When = d.expression(n, "spec.parent.when") },
		"schema": func(n *yamltree.Node) { p.schema = n },
	})
	p.GVK = d.gvk(n, "spec.parent", apiVersion, kind)
}

// gvk joins an apiVersion and a kind. It is empty if one of them is missing or wrong, which is reported.
func (d *decoder) gvk(n *yamltree.Node, path, apiVersion, kind string) schema.GroupVersionKind {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || apiVersion != "" && gv.Version == "" {
		at := n.Get("apiVersion")
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
