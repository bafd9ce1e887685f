package syntax

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
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
				hideSecretLine(d.src, finding.Position)
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
	r := &Rule{Source: d.src, Position: d.src.At(root), hash: revision(root), OnRuleDeletion: OrphanChildren, PruneLimit: defaultPruneLimit}
	hideSecrets(d.src, root)
	found := d.object(root, "", language.Document().Fields, func(f *language.Field, n *yamltree.Node) {
		if f.Name == "metadata" || f.Name == "spec" {
			d.fill(n, f.Name, f.Type.Fields, r)
		}
	})
	if r.Parent.Node == nil {
		r.Parent.Pos = r.Position
	}
	if d.src.IsFile() {
		r.BooleanWords = slices.DeleteFunc(booleanWordsIn(root), func(n *yamltree.Node) bool { return d.isReported(d.src.At(n)) })
	}
	if found["spec"] && r.Parent.Node == nil && len(r.Children) == 0 {
		r.OpenVariables, r.OpenLookups, r.OpenChildren = true, true, true // nothing is known of it
	}
	return r
}

func (d *decoder) isReported(pos diagnostic.Position) bool {
	return slices.ContainsFunc(d.findings, func(f *diagnostic.Finding) bool { return f.Position == pos })
}

func (r *Rule) complete(d *decoder, n *yamltree.Node, path string) {
	if path != "spec" {
		return
	}
	r.OpenChildren = isOpen(n, "children")
	if f := r.Finalize; f != nil {
		for i := range f.Children {
			f.Children[i].Cleanup = true
		}
		if at := n.Get("finalize"); at != nil {
			r.OpenChildren = r.OpenChildren || isOpen(at, "children")
		}
		r.Children, f.Children = append(r.Children, f.Children...), nil
	}
	uniqueVariables(d, r.Variables)
	unique(d, "lookups", "id", r.Lookups, func(l *Lookup) (string, diagnostic.Position) { return l.ID, l.Pos })
	unique(d, "children", "id", r.Children, func(c *Child) (string, diagnostic.Position) { return c.ID, c.Pos })
	unique(d, "patches", "id", r.Patches, func(p *Patch) (string, diagnostic.Position) { return p.ID, p.Pos })
	unique(d, "conditions", "type", r.Conditions, func(c *Condition) (string, diagnostic.Position) { return c.Type, c.Pos })
	r.OpenVariables = isOpen(n, "variables") || hasUnnamed(r.Variables)
	r.OpenLookups = isOpen(n, "lookups") || slices.ContainsFunc(r.Lookups, func(l Lookup) bool { return l.ID == "" })
	r.OpenChildren = r.OpenChildren || slices.ContainsFunc(r.Children, func(c Child) bool { return c.ID == "" })
	if r.Parent.Schema != nil {
		d.kindSchema(r)
	}
}
