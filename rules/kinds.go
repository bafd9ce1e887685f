package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Kind is what the compiler needs to know of a kind.
type Kind struct {
	// Namespaced is true if objects of the kind are in namespaces.
	Namespaced bool
	// HasStatus is true if the kind has a /status subresource.
	HasStatus bool
	// Verbs are what the API offers for the kind, such as "watch"; nil if that is not known.
	Verbs sets.Set[string]
}

// Kinds knows which kinds the cluster has. It may implement KindLister as well.
type Kinds interface {
	// Lookup answers from memory. It is false if the cluster lacks the kind.
	Lookup(gvk schema.GroupVersionKind) (Kind, bool)
}

// KindLister makes findings about missing kinds more helpful. Kinds may implement it.
type KindLister interface {
	// Known lists the kinds, in any order.
	Known() []schema.GroupVersionKind
	// Complete reports whether all kinds of a group and name are known. If they are not, a missing kind is only a
	// warning, because it may exist all the same.
	Complete(kind schema.GroupKind) bool
	// Place names what lacks the kinds of a group, such as "the cluster".
	Place(group string) string
}

func parentVerbs() []string { return []string{"get", "list", "watch"} }

func childVerbs() []string { return append(parentVerbs(), "create", "patch", "delete") }

// kindUse is the part of the rule that names a kind.
type kindUse struct {
	// node is the child, the lookup or the patch. It is empty for the parent, without which the rule cannot run.
	node string
	// optional is true for a node that is skipped while its kind is missing.
	optional bool
}

// kind looks up the kind that a mapping with apiVersion and kind names. It is false if the kind is missing or unknown,
// as without Options.Kinds; the kind then counts as namespaced.
func (c *compiler) kind(gvk schema.GroupVersionKind, n *yamltree.Node, verbs []string, use kindUse) (Kind, bool) {
	if c.opts.Kinds == nil || gvk.Kind == "" {
		return Kind{Namespaced: true}, false
	}
	k, ok := c.opts.Kinds.Lookup(gvk)
	if !ok {
		c.missingKind(gvk, n, use)
		return Kind{Namespaced: true}, false
	}
	if c.opts.Schemas != nil && !c.unchecked[gvk] && c.opts.Schemas.Schema(gvk) == nil {
		c.unchecked[gvk] = true
		c.Report(c.FieldAt(n, "kind"), diagnostic.CodeNoSchema, "the schema of kind %s in %s is not known here, so its fields are not checked", gvk.Kind, gvk.GroupVersion())
	}
	c.checkVerbs(k, gvk, n, verbs, "used here")
	if k.HasStatus && !syntax.IsBuiltIn(gvk.Group) {
		c.statusKinds[gvk] = true
	}
	return k, true
}

func (c *compiler) checkVerbs(k Kind, gvk schema.GroupVersionKind, n *yamltree.Node, verbs []string, use string) {
	if lacks := slices.DeleteFunc(verbs, k.Verbs.Has); k.Verbs != nil && len(lacks) > 0 {
		c.Report(c.FieldAt(n, "kind"), diagnostic.CodeUnusableKind, "kind %s in %s cannot be %s: its API has no %s",
			gvk.Kind, gvk.GroupVersion(), use, strings.Join(lacks, ", "))
	}
}

func (c *compiler) isUnresolved(known bool, gvk schema.GroupVersionKind) bool {
	return c.opts.AwaitKinds && c.opts.Kinds != nil && !known && gvk.Kind != ""
}

// missingKind reports a kind that does not exist, at the field to change. If rules wait for their kinds, only a missing
// parent kind is an error: otherwise one node waits.
func (c *compiler) missingKind(gvk schema.GroupVersionKind, n *yamltree.Node, use kindUse) {
	place, known, complete := "the cluster", []schema.GroupVersionKind(nil), true
	if lister, ok := c.opts.Kinds.(KindLister); ok {
		place, known, complete = lister.Place(gvk.Group), lister.Known(), lister.Complete(gvk.GroupKind())
	}
	elsewhere := slices.ContainsFunc(known, func(k schema.GroupVersionKind) bool { return k.GroupKind() == gvk.GroupKind() })
	if use.node == "" && c.rule.Parent.HasBrokenSchema() {
		return // which was reported
	}
	if use.optional && (!c.opts.AwaitKinds || complete && !elsewhere) {
		return // the author knows that some clusters lack it
	}
	kind := fmt.Sprintf("kind %s in %s", gvk.Kind, gvk.GroupVersion())
	code, text := diagnostic.CodeUnknownKind, place+" has no "+kind
	switch {
	case complete:
	case c.opts.AwaitKinds:
		text = "it is not known now whether the cluster has " + kind
	case c.unchecked[gvk]:
		return
	default:
		c.unchecked[gvk] = true
		code, text = diagnostic.CodeUncheckedKind, kind+" is not known here, so the rule cannot be checked completely"
	}
	s := suggestKind(gvk, known)
	if s.hint == "" && code == diagnostic.CodeUnknownKind && place == "the cluster" && use.node == "" {
		s.hint = "apply its CustomResourceDefinition first"
	}
	f := c.Report(c.FieldAt(n, s.field), code, "%s", text)
	f.Hint, f.Missing = s.hint, &gvk
	if value := n.Get(s.field); s.meant != "" && value != nil && code == diagnostic.CodeUnknownKind {
		f.WithEdit(f.Position, value.Raw(), s.meant)
		if version := n.Get("apiVersion"); s.in != "" && version != nil {
			f.WithEdit(c.FieldAt(n, "apiVersion"), version.Raw(), s.in)
		}
	}
	if c.opts.AwaitKinds && use.node != "" {
		f.Message += "; " + use.node + " waits for it, and the rest of the rule runs"
		f.Severity = diagnostic.SeverityWarning
	}
}

// kindSuggestion is the kind that may be meant by one that does not exist.
type kindSuggestion struct {
	// field is the one with the mistake. meant is its correct value, if there is only one candidate.
	field, hint, meant string
	// in is the correct apiVersion, if that differs as well.
	in string
}

func suggestKind(gvk schema.GroupVersionKind, known []schema.GroupVersionKind) kindSuggestion {
	places := func(isMeant func(k schema.GroupVersionKind) bool) string {
		var found []string
		for _, k := range known {
			if isMeant(k) {
				found = append(found, k.GroupVersion().String())
			}
		}
		slices.Sort(found)
		return strings.Join(slices.Compact(found), ", ")
	}
	versions := places(func(k schema.GroupVersionKind) bool { return k.GroupKind() == gvk.GroupKind() })
	groups := places(func(k schema.GroupVersionKind) bool { return k.Kind == gvk.Kind })
	if in := cmp.Or(versions, groups); in != "" {
		s := kindSuggestion{field: "apiVersion", hint: fmt.Sprintf("%s is in %s", gvk.Kind, in), meant: in}
		if strings.Contains(in, ", ") {
			s.meant = ""
		}
		return s
	}
	var siblings, others []string
	for _, k := range known {
		if others = append(others, k.Kind); k.GroupVersion() == gvk.GroupVersion() {
			siblings = append(siblings, k.Kind)
		}
	}
	if near, ok := diagnostic.Nearest(gvk.Kind, siblings); ok {
		return kindSuggestion{field: "kind", hint: diagnostic.DidYouMean(gvk.Kind, siblings), meant: near}
	}
	near, ok := diagnostic.Nearest(gvk.Kind, others)
	if !ok {
		return kindSuggestion{field: "kind"}
	}
	in := places(func(k schema.GroupVersionKind) bool { return k.Kind == near })
	s := kindSuggestion{field: "kind", hint: fmt.Sprintf("did you mean %q, which is in %s?", near, in)}
	if !strings.Contains(in, ", ") {
		s.meant, s.in = near, in
	}
	return s
}

func (c *compiler) schemaOf(gvk schema.GroupVersionKind) *openapi.Schema {
	if gvk.Kind == "" {
		return nil
	}
	if c.opts.Schemas != nil {
		if s := c.opts.Schemas.Schema(gvk); s != nil {
			return s
		}
	}
	return c.certain[gvk]
}

// certainSchemas are the parts of built-in schemas that a rule's meaning depends on. How base64 in a Secret is read
// must not depend on whether the API server has sent its schemas yet.
func certainSchemas() map[schema.GroupVersionKind]*openapi.Schema {
	mapOf := func(format string) *openapi.Field {
		return &openapi.Field{
			Schema:    &openapi.Schema{Type: openapi.Map, Items: &openapi.Schema{Type: openapi.String, Format: format}},
			Defaulted: true, // so that nobody hears that it may be missing
		}
	}
	core := func(kind string) schema.GroupVersionKind { return schema.GroupVersionKind{Version: "v1", Kind: kind} }
	return map[schema.GroupVersionKind]*openapi.Schema{
		core("Secret"): {Type: openapi.Object, Open: true, Fields: map[string]*openapi.Field{
			"data": mapOf(openapi.FormatByte), "stringData": mapOf(""),
		}},
		core("ConfigMap"): {Type: openapi.Object, Open: true, Fields: map[string]*openapi.Field{
			"binaryData": mapOf(openapi.FormatByte),
		}},
	}
}

func (c *compiler) kindType(gvk schema.GroupVersionKind, many bool) check.Type {
	object := c.types.Of(c.schemaOf(gvk))
	if many {
		return c.types.List(object)
	}
	return object
}

func (c *compiler) compiledScalar(n *yamltree.Node) (check.Scalar, bool) {
	r, ok := c.results[n]
	if !ok || r.wrong || r.x == nil {
		return check.Scalar{}, ok && !r.wrong
	}
	return check.Scalar{Whole: r.x.Expression, Text: r.x.run.Text, Offset: r.part.Offset, Variable: c.variableOf(r.x.expr.Root()), GoesInto: func(s *openapi.Schema) {
		for _, x := range append(r.others, r.x) {
			x.goesInto(s)
		}
	}}, true
}

// variableOf is the value of the variable that an expression such as variables.size consists of; nil for every other
// expression.
func (c *compiler) variableOf(root ast.Expr) *yamltree.Node {
	if root.Kind() != ast.SelectKind {
		return nil
	}
	return c.variableValue(flow.WholeVariable(root))
}

// conform compares a compiled template with the schema of its kind. shared is true if others write to the object as
// well.
func (c *compiler) conform(template *yamltree.Node, gvk schema.GroupVersionKind, hasStatus, shared bool) {
	if s := c.schemaOf(gvk); s != nil {
		c.templateCheck(gvk, shared, hasStatus).Check(template, gvk.Kind, s)
	}
}

func (c *compiler) templateCheck(gvk schema.GroupVersionKind, shared, hasStatus bool) check.TemplateCheck {
	return check.TemplateCheck{
		Reporter: c.Reporter, Compiled: c.compiledScalar, Table: c.types,
		BuiltIn: syntax.IsBuiltIn(gvk.Group), Shared: shared, DropsStatus: hasStatus,
	}
}

// checkPlace reports a rule in a namespace other than that of its source, and sets the ServiceAccount with which the
// rule acts.
func (c *compiler) checkPlace(p *program.Program) {
	rule := c.rule
	p.ServiceAccountName, p.AllowPrivileged, p.Confined = rule.ServiceAccountName, rule.AllowPrivileged, c.opts.Confined
	if ns := c.opts.Namespace; ns != "" && rule.Namespace != "" && rule.Namespace != ns {
		acts := "acts cluster-wide"
		if c.opts.Confined {
			acts = "is confined to the namespace that it is in,"
		}
		c.Report(rule.NamespacePos, diagnostic.CodeRuleNamespace, "a rule here %s and belongs to namespace %s", acts, ns).
			WithEdit(rule.NamespacePos, rule.Namespace, ns).WithHint("leave out metadata.namespace or say %q", ns)
	}
	if !c.opts.Confined {
		return
	}
	p.ServiceAccountName = cmp.Or(p.ServiceAccountName, program.TenantServiceAccount)
	if rule.AllowPrivileged {
		c.Report(rule.AllowPrivilegedPos, diagnostic.CodeUntrusted, "allowPrivileged is for rules in Kanon's own namespace and in files").WithHint("leave it out")
	}
	if rule.Parent.HasSchema() {
		c.Report(rule.Parent.Pos, diagnostic.CodeBeyond, "a rule that is confined to its namespace cannot define a kind, which is cluster-wide").
			WithHint("have an administrator apply the output of kanon crd, and leave out schema")
	}
	if rule.Parent.NamespaceSelector != nil {
		c.Report(rule.Parent.Pos, diagnostic.CodeBeyond, "a rule that is confined to its namespace cannot select Namespaces").WithHint("leave out namespaceSelector")
	}
}

// confineParent limits the parents of a confined rule to its namespace.
func (c *compiler) confineParent(parent *program.Parent) {
	if !c.opts.Confined {
		return
	}
	spec, own := c.rule.Parent, c.opts.Namespace
	if other := slices.IndexFunc(spec.Namespaces, func(name string) bool { return name != own }); other >= 0 {
		c.reportBeyond(spec.Pos, "its parents are in namespace "+own, "it names "+spec.Namespaces[other]).WithHint("leave out namespaces")
	}
	if !parent.Namespaced {
		c.reportBeyond(spec.Pos, "its parents are in namespace "+own, spec.GVK.Kind+" is cluster-scoped")
	}
	parent.Namespaces = []string{own}
}

// confine reports a node of a confined rule that reaches beyond the rule's namespace, as far as the text shows. The
// engine refuses the rest.
func (c *compiler) confine(label string, gvk schema.GroupVersionKind, namespaced bool, n, namespace *yamltree.Node) {
	if !c.opts.Confined || n == nil {
		return
	}
	only := label + " is about objects in namespace " + c.opts.Namespace
	if !namespaced {
		c.reportBeyond(c.FieldAt(n, "kind"), only, gvk.Kind+" is cluster-scoped")
		return
	}
	if name, ok := namespace.Text(); ok && !yamltree.HasExpression(name) && name != c.opts.Namespace {
		c.reportBeyond(c.At(namespace), only, "this names "+name).WithHint("leave it out")
	}
}

func (c *compiler) reportBeyond(pos diagnostic.Position, only, found string) *diagnostic.Finding {
	return c.Report(pos, diagnostic.CodeBeyond, "the rule is confined to its namespace: %s, and %s", only, found)
}

// checkPrivilege reports an object that grants rights, unless the rule may write such objects.
func (c *compiler) checkPrivilege(label string, gvk schema.GroupVersionKind, n *yamltree.Node) {
	reason := program.PrivilegeOfKind(gvk.GroupKind())
	if c.rule.AllowPrivileged || reason == "" || n == nil {
		return
	}
	f := c.Report(c.FieldAt(n, "kind"), diagnostic.CodePrivileged, "%s is a %s, and %s: a rule writes such objects only with allowPrivileged", label, gvk.Kind, reason)
	if c.opts.Confined {
		f.WithHint("only rules in Kanon's own namespace and in files may say allowPrivileged: true")
		return
	}
	f.WithHint("if everybody who may write a parent may have that, add allowPrivileged: true to spec")
}

// checkDeletion reports a deleteWhen for parents that no rule may delete. It is true if the rule may delete them.
func (c *compiler) checkDeletion(deleteWhen *yamltree.Node) bool {
	kind := c.rule.Parent.GVK.GroupKind()
	if isPowerful(kind) || program.PrivilegeOfKind(kind) != "" && !c.rule.AllowPrivileged {
		c.ReportNode(deleteWhen, diagnostic.CodePowerfulParent, "spec.deleteWhen cannot delete a %s: too much goes with it", kind.Kind).
			WithHint("report in spec.status or spec.conditions that it can be deleted, and let a person delete it")
		return false
	}
	return true
}

// isPowerful reports whether the deletion of an object of a kind destroys more than the object itself.
func isPowerful(gk schema.GroupKind) bool {
	switch gk {
	case schema.GroupKind{Kind: "Namespace"}, schema.GroupKind{Kind: "Node"}, schema.GroupKind{Kind: "PersistentVolume"},
		schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return true
	}
	return false
}
