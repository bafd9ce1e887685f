package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Kind tells what the compiler must know of a kind that a rule names.
type Kind struct {
	// Namespaced is true where objects of the kind live in a namespace.
	Namespaced bool
	// HasStatus is true where the kind has a /status subresource.
	HasStatus bool
	// Verbs are what the API can do with the kind's objects, such as "watch";
	// nil where that is not known.
	Verbs sets.Set[string]
}

// Kinds tells which kinds the cluster has. It may be a KindLister too.
type Kinds interface {
	// Lookup answers from memory; false means that the cluster lacks the kind.
	Lookup(gvk schema.GroupVersionKind) (Kind, bool)
}

// KindLister is what Kinds can be besides, for better findings about a kind
// that is not there.
type KindLister interface {
	// Known lists the kinds, in any order.
	Known() []schema.GroupVersionKind
	// Complete says whether all kinds of that group and name are known. One that
	// is not there is only a warning where they are not: it may be there all the
	// same.
	Complete(kind schema.GroupKind) bool
	// Place names what lacks a kind of a group, such as "the cluster".
	Place(group string) string
}

// Schemas gives the schemas of kinds, from memory.
type Schemas interface {
	// Schema is the schema of whole objects of a kind, with apiVersion, kind and
	// metadata; nil where none is known.
	Schema(gvk schema.GroupVersionKind) *openapi.Schema
}

// parentVerbs and childVerbs are what the engine does with objects.
func parentVerbs() []string { return []string{"get", "list", "watch"} }

func childVerbs() []string { return append(parentVerbs(), "create", "patch", "delete") }

// kindUse is what names a kind.
type kindUse struct {
	// node is the child, the lookup or the patch; empty: the parent, without which
	// there is no rule.
	node string
	// optional is true for a child that is skipped while its kind is missing.
	optional bool
}

// kind looks up the kind that a mapping with apiVersion and kind names. false:
// nothing is known of it, as without Options.Kinds, and it counts as namespaced.
func (c *compiler) kind(gvk schema.GroupVersionKind, n *yamltree.Node, verbs []string, use kindUse) (Kind, bool) {
	if c.opts.Kinds == nil || gvk.Kind == "" {
		return Kind{Namespaced: true}, false
	}
	k, ok := c.opts.Kinds.Lookup(gvk)
	if !ok {
		c.missingKind(gvk, n, use)
		return Kind{Namespaced: true}, false
	}
	c.checkSchema(gvk, n)
	if k.Verbs != nil && !k.Verbs.HasAll(verbs...) {
		lacks := slices.DeleteFunc(verbs, k.Verbs.Has)
		c.report(c.fieldAt(n, "kind"), diagnostic.CodeUnusableKind, "kind %s in %s cannot be used here: its API has no %s",
			gvk.Kind, gvk.GroupVersion(), strings.Join(lacks, ", "))
	}
	c.checkSchema(gvk, n)
	if k.HasStatus && !syntax.IsBuiltIn(gvk.Group) {
		c.statusKinds[gvk] = true
	}
	return k, true
}

// checkSchema reports a kind of which there is no schema, once.
func (c *compiler) checkSchema(gvk schema.GroupVersionKind, n *yamltree.Node) {
	if c.opts.Schemas == nil || c.unchecked[gvk] || c.opts.Schemas.Schema(gvk) != nil {
		return
	}
	c.unchecked[gvk] = true
	c.report(c.fieldAt(n, "kind"), diagnostic.CodeNoSchema, "the schema of kind %s in %s is not known here, so its fields are not checked", gvk.Kind, gvk.GroupVersion())
}

// fieldAt is where the value of a mapping's field stands, or the mapping where
// the field has another name by mistake.
func (c *compiler) fieldAt(n *yamltree.Node, name string) diagnostic.Position {
	if value := n.Get(name); value != nil {
		n = value
	}
	return c.rule.Source.At(n)
}

// isUnresolved tells whether a node has to wait until its kind exists.
func (c *compiler) isUnresolved(known bool, gvk schema.GroupVersionKind) bool {
	return c.opts.AwaitKinds && c.opts.Kinds != nil && !known && gvk.Kind != ""
}

// missingKind reports a kind that is not there, at what should be changed.
func (c *compiler) missingKind(gvk schema.GroupVersionKind, n *yamltree.Node, use kindUse) {
	place, known, complete := "the cluster", []schema.GroupVersionKind(nil), true
	if lister, ok := c.opts.Kinds.(KindLister); ok {
		place, known, complete = lister.Place(gvk.Group), lister.Known(), lister.Complete(gvk.GroupKind())
	}
	elsewhere := slices.ContainsFunc(known, func(k schema.GroupVersionKind) bool { return k.GroupKind() == gvk.GroupKind() })
	if use.optional && (!c.opts.AwaitKinds || complete && !elsewhere) {
		return // the author knows that some clusters lack it
	}
	field, hint := suggestKind(gvk, known)
	pos := c.fieldAt(n, field)
	if c.opts.AwaitKinds {
		c.awaitedKind(gvk, pos, use, complete).Hint = hint
		return
	}
	if complete {
		f := c.report(pos, diagnostic.CodeUnknownKind, "%s has no kind %s in %s", place, gvk.Kind, gvk.GroupVersion())
		f.Hint, f.Missing = hint, &gvk
		return
	}
	if !c.unchecked[gvk] {
		c.unchecked[gvk] = true
		f := c.report(pos, diagnostic.CodeUncheckedKind, "kind %s in %s is not known here, so the rule cannot be checked completely", gvk.Kind, gvk.GroupVersion())
		f.Hint, f.Missing = hint, &gvk
	}
}

// awaitedKind reports a missing kind where rules wait for their kinds: without the
// kind of its parents a rule cannot run; otherwise one node waits.
func (c *compiler) awaitedKind(gvk schema.GroupVersionKind, pos diagnostic.Position, use kindUse, complete bool) *diagnostic.Finding {
	text := fmt.Sprintf("the cluster has no kind %s in %s", gvk.Kind, gvk.GroupVersion())
	if !complete {
		text = fmt.Sprintf("it is not known now whether the cluster has kind %s in %s", gvk.Kind, gvk.GroupVersion())
	}
	if use.node != "" {
		text += "; " + use.node + " waits for it, and the rest of the rule runs"
	}
	f := c.report(pos, diagnostic.CodeUnknownKind, "%s", text)
	f.Missing = &gvk
	if use.node != "" {
		f.Severity = diagnostic.SeverityWarning
	}
	return f
}

// suggestKind says which of the kinds that there are could be meant, and in
// which field the difference is.
func suggestKind(gvk schema.GroupVersionKind, known []schema.GroupVersionKind) (field, hint string) {
	var versions, groups, siblings, others []string
	for _, k := range known {
		switch {
		case k.Kind == gvk.Kind && k.Group == gvk.Group:
			versions = append(versions, k.GroupVersion().String())
		case k.Kind == gvk.Kind:
			groups = append(groups, k.GroupVersion().String())
		case k.GroupVersion() == gvk.GroupVersion():
			siblings = append(siblings, k.Kind)
		default:
			others = append(others, k.Kind)
		}
	}
	if places := slices.Concat(versions, groups); len(places) > 0 {
		if len(versions) > 0 {
			places = versions
		}
		slices.Sort(places)
		return "apiVersion", fmt.Sprintf("%s is in %s", gvk.Kind, strings.Join(slices.Compact(places), ", "))
	}
	if hint := diagnostic.DidYouMean(gvk.Kind, siblings); hint != "" {
		return "kind", hint
	}
	near, ok := diagnostic.Nearest(gvk.Kind, others)
	if !ok {
		return "kind", ""
	}
	for _, k := range known {
		if k.Kind == near {
			groups = append(groups, k.GroupVersion().String())
		}
	}
	slices.Sort(groups)
	return "kind", fmt.Sprintf("did you mean %q, which is in %s?", near, strings.Join(slices.Compact(groups), ", "))
}
