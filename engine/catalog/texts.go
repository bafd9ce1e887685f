package catalog

import (
	"crypto/sha256"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// text is one decoded text of a source.
type text struct {
	origin source.Origin
	// created is when the origin was created; zero for a file.
	created  time.Time
	sum      [sha256.Size]byte
	from     source.Text
	docs     syntax.Documents
	findings diagnostic.Findings
	// definitions are the text's CustomResourceDefinitions; err says why some cannot be applied.
	definitions []Definition
	err         error
	// conflicts are findings about rules of the text that do not count: another text has the name, or the tenant has
	// too many. Each update recomputes them.
	conflicts diagnostic.Findings
}

// readTexts decodes new and changed texts and drops those that no longer exist. It reports whether there was a new or
// changed one.
func (c *Catalog) readTexts(snapshots []source.Snapshot) (newText bool) {
	before := c.texts
	c.texts, c.origins = make(map[string]*text), make(map[source.Origin]source.Annotations)
	for _, snapshot := range snapshots {
		for _, bundle := range snapshot.Bundles {
			c.origins[bundle.Origin] = bundle.Annotations
			for _, from := range bundle.Texts {
				sum := sha256.Sum256(from.Data)
				t := before[from.Name]
				if t == nil || t.sum != sum || t.origin != bundle.Origin {
					t = &text{origin: bundle.Origin, created: bundle.Created, sum: sum, from: from}
					t.read(c)
					newText = true
				}
				t.conflicts = nil
				c.texts[from.Name] = t
			}
		}
	}
	c.partial = slices.ContainsFunc(snapshots, func(s source.Snapshot) bool { return !s.Complete })
	return newText
}

func (t *text) read(c *Catalog) {
	in := c.placeOf(t)
	t.docs, t.findings = c.decode(t.from, in)
	t.definitions, t.err = definitionsOf(t.from.Name, &t.docs)
	if in.Confined && len(t.definitions) > 0 {
		t.definitions, t.err = nil, errTenantDefinition
	}
}

// inferAgain decodes again the texts in which a status takes its types from changed kinds. It replaces a text only if
// the result differs.
func (c *Catalog) inferAgain(changed KindSet) {
	for name, before := range c.texts {
		if !before.takesTypes(changed) {
			continue
		}
		now := *before
		if now.read(c); !now.isSame(before) {
			c.texts[name] = &now
		}
	}
}

// takesTypes reports whether a status in the text may take its types from one of the kinds.
func (t *text) takesTypes(kinds KindSet) bool {
	if len(kinds) == 0 {
		return false
	}
	return slices.ContainsFunc(slices.Concat(t.docs.Rules, t.docs.Partial), func(rule *syntax.Rule) bool {
		return rule.Parent.Definition != nil && rule.Status != nil && slices.ContainsFunc(rule.Kinds(), func(gvk schema.GroupVersionKind) bool {
			return gvk != rule.Parent.GVK && kinds.Has(gvk)
		})
	})
}

// isSame reports whether the text was read with the same definitions, findings and awaited kinds.
func (t *text) isSame(before *text) bool {
	same := func(a, b Definition) bool { return a.Hash == b.Hash }
	return slices.EqualFunc(t.definitions, before.definitions, same) && slices.Equal(linesOf(t.findings), linesOf(before.findings)) &&
		slices.EqualFunc(t.docs.Rules, before.docs.Rules, func(a, b *syntax.Rule) bool { return slices.Equal(a.Parent.Awaits, b.Parent.Awaits) })
}

// decode decodes a text. A rule that cannot be decoded completely is compiled as far as possible, so that one report
// has all findings. That compilation uses no kinds, because it is not repeated when kinds change. Only a status that
// takes its types from kinds is decoded again (inferAgain).
func (c *Catalog) decode(from source.Text, in place) (syntax.Documents, diagnostic.Findings) {
	decode := syntax.Decode
	switch {
	case from.Object:
		decode = syntax.DecodeObject
	case from.File:
		decode = syntax.DecodeFile
	}
	docs, findings := decode(from.Name, from.Data)
	// Kubernetes' own kinds come from the schemas built into this program, so that a generated definition is the same
	// offline and in every cluster.
	inference := rules.Inference{Schemas: openapi.Layers{openapi.Builtin{}, c.schemas}, Awaits: c.schemas.mayCome}
	findings = append(findings, inference.Infer(&docs)...)
	for _, partial := range docs.Partial {
		_, more := rules.Compile(partial, rules.Options{Namespace: in.Namespace, Confined: in.Confined, Limits: c.compiling.Limits})
		findings = append(findings, more...)
	}
	return docs, findings
}
