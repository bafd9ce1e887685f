package catalog

import (
	"crypto/sha256"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/openapi/builtin"
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
	c.texts, c.origins = make(map[string]*text), make(map[source.Origin]confirmed)
	for _, snapshot := range snapshots {
		for _, bundle := range snapshot.Bundles {
			c.origins[bundle.Origin] = confirmed{bundle.Confirmed, bundle.ConfirmedDefinitions}
			for _, from := range bundle.Texts {
				sum := sha256.Sum256(from.Data)
				t := before[from.Name]
				if t == nil || t.sum != sum || t.origin != bundle.Origin {
					t = &text{origin: bundle.Origin, created: bundle.Created, sum: sum}
					t.docs, t.findings = c.decode(from, c.placeOf(t))
					t.definitions, t.err = definitionsOf(from.Name, &t.docs)
					if c.placeOf(t).Confined {
						t.confine()
					}
					newText = true
				}
				t.conflicts = nil
				c.texts[from.Name] = t
			}
		}
	}
	c.partial = slices.ContainsFunc(snapshots, func(s source.Snapshot) bool { return !s.Complete })
	c.broken = make(sets.Set[string])
	for _, t := range c.texts {
		if t.findings.HasErrors() {
			c.broken.Insert(c.placeOf(t).Namespace)
		}
	}
	return newText
}

// decode decodes a text. A rule that cannot be decoded whole is compiled as far as it goes,
// so that one report has all findings. That is done without kinds, because it is not done
// again when they change.
func (c *Catalog) decode(from source.Text, in place) (syntax.Documents, diagnostic.Findings) {
	decode := syntax.Decode
	if from.Object {
		decode = syntax.DecodeObject
	}
	docs, findings := decode(from.Name, from.Data)
	findings = append(findings, rules.InferStatus(&docs, builtin.Schemas{})...)
	for _, partial := range docs.Partial {
		_, more := rules.Compile(partial, rules.Options{Namespace: in.Namespace, Confined: in.Confined, Limits: c.compiling.Limits})
		findings = append(findings, more...)
	}
	return docs, findings
}
