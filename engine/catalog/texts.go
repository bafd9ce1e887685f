package catalog

import (
	"crypto/sha256"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/kinds/openapi/builtin"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// text is one text of a source, decoded.
type text struct {
	origin source.Origin
	// created is when the origin was created; zero for a file.
	created  time.Time
	sum      [sha256.Size]byte
	from     source.Text
	docs     syntax.Documents
	findings diagnostic.Findings
	// definitions are the CustomResourceDefinitions in it; err says why some cannot be
	// applied.
	definitions []Definition
	err         error
	// conflicts are about rules whose name belongs to another text. Each update finds
	// them anew.
	conflicts diagnostic.Findings
}

// readTexts decodes the texts that are new or changed and drops those that exist no more.
// It tells whether there was a new one.
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

// read decodes the text.
func (t *text) read(c *Catalog) {
	in := c.placeOf(t)
	t.docs, t.findings = c.decode(t.from, in)
	t.definitions, t.err = definitionsOf(t.from.Name, &t.docs)
	if in.Confined {
		t.confine()
	}
}

// inferAgain decodes the texts again in which a status takes its types from kinds that changed, and takes in what comes out
// differently.
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

// takesTypes tells whether a rule of the text has a status whose types may come from one of the kinds.
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

// isSame tells whether the text was read with the same definitions and findings.
func (t *text) isSame(before *text) bool {
	same := func(a, b Definition) bool { return a.Hash == b.Hash }
	return slices.EqualFunc(t.definitions, before.definitions, same) && slices.Equal(linesOf(t.findings), linesOf(before.findings)) &&
		slices.EqualFunc(t.docs.Rules, before.docs.Rules, func(a, b *syntax.Rule) bool { return slices.Equal(a.Parent.Awaits, b.Parent.Awaits) })
}

// decode decodes a text. A rule that cannot be decoded whole is compiled as far as it goes,
// so that one report has all findings. That is done without kinds, because it is not done
// again when they change; but for a rule whose status takes its types from them (inferAgain).
func (c *Catalog) decode(from source.Text, in place) (syntax.Documents, diagnostic.Findings) {
	decode := syntax.Decode
	switch {
	case from.Object:
		decode = syntax.DecodeObject
	case from.File:
		decode = syntax.DecodeFile
	}
	docs, findings := decode(from.Name, from.Data)
	// Kubernetes' own kinds as this program knows them: so a definition is the same on a desk and in every cluster.
	inference := rules.Inference{Schemas: rules.Layers{builtin.Schemas{}, c.schemas}, Awaits: c.schemas.mayCome}
	findings = append(findings, inference.Infer(&docs)...)
	for _, partial := range docs.Partial {
		_, more := rules.Compile(partial, rules.Options{Namespace: in.Namespace, Confined: in.Confined, Limits: c.compiling.Limits})
		findings = append(findings, more...)
	}
	return docs, findings
}
