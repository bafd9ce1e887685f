package syntax

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/shortschema"
	"kanon.dev/kanon/rules/yamltree"
)

type definition struct {
	src  *yamltree.Source
	root *yamltree.Node
	// readers have the positions of a definition that comes from spec.parent.schema, by the indices of its versions.
	// root is then that schema. For a definition beside rules, readers is nil.
	readers []*shortschema.Reader
}

// DefinitionPlace is a place in a CustomResourceDefinition.
type DefinitionPlace struct {
	// Path leads to it: names of fields, keys of maps, and indices of lists, from 0. If the definition has no such
	// place, the last existing one on the way counts.
	Path []string
	// Name is true for the last name of the path, and false for its value.
	Name bool
	// Offset is the byte within the value, if that is text.
	Offset int
}

// DefinitionFinding is a finding about CRDs[i], with a message from the API server's validation.
func (docs *Documents) DefinitionFinding(i int, at DefinitionPlace, message string) diagnostic.Finding {
	d := docs.definitions[i]
	if path, reason, ok := strings.Cut(message, ": "); ok && d.readers != nil {
		message = shortPath(path) + ": " + reason
	}
	f := diagnostic.New(d.place(at), diagnostic.CodeRefusedCRD, "%s", message)
	if d.readers != nil && strings.Contains(message, "cost limit") {
		f.WithHint("give bounds to the lists, maps and strings that its expressions read, and to those around it: maxItems, maxProperties, maxLength")
	}
	return *f.WithLines(d.src)
}

var (
	ofVersion = regexp.MustCompile(`^spec\.versions\[\d+\]\.(schema\.openAPIV3Schema(\.|$))?`)
	ofField   = regexp.MustCompile(`\bproperties\[([^\]]+)\]`)
)

// AboutDefinition is a finding about the definition that comes from the rule's schema.
func (r *Rule) AboutDefinition(message, hint string) diagnostic.Finding {
	f := diagnostic.New(r.Source.At(r.Parent.Schema.Node), diagnostic.CodeHeldCRD, "%s", message)
	if hint != "" {
		f.WithHint("%s", hint)
	}
	return *f.WithLines(r.Source)
}

// IsBeside reports whether CRDs[i] is beside rules, and does not come from a rule's schema.
func (docs *Documents) IsBeside(i int) bool { return docs.definitions[i].readers == nil }

// AboutDefinition is a finding about the effect of CRDs[i] in a cluster.
func (docs *Documents) AboutDefinition(i int, message, hint string) diagnostic.Finding {
	d := docs.definitions[i]
	f := diagnostic.New(d.place(DefinitionPlace{Path: []string{"metadata", "name"}}), diagnostic.CodeHeldCRD, "%s", message)
	if hint != "" {
		f.WithHint("%s", hint)
	}
	return *f.WithLines(d.src)
}

// DefinedTwice is a finding about CRDs[i], which differs from others.CRDs[j] of the same name.
func (docs *Documents) DefinedTwice(i int, others *Documents, j int) diagnostic.Finding {
	d, other := docs.definitions[i], others.definitions[j]
	name := DefinitionPlace{Path: []string{"metadata", "name"}}
	at, second := d.place(name), other.place(name)
	what, remove := "", "one of them"
	if d.readers != nil {
		at, what, remove = d.src.At(d.root), " that this schema makes", "the manifest or the schema"
	}
	f := diagnostic.New(at, diagnostic.CodeClash, "the CustomResourceDefinition %s%s is at %s, too, and differs there: the cluster has only one of them; remove %s",
		docs.CRDs[i].GetName(), what, second, remove)
	return *f.WithRelated(second, "the other definition").WithLines(d.src)
}

// shortPath turns a path of the API server into one of the rule's schema: spec.replicas.default.
func shortPath(path string) string {
	return cmp.Or(ofField.ReplaceAllString(ofVersion.ReplaceAllString(path, ""), "$1"), "the schema")
}

// WholeCRDs are CRDs without those of rules with an error: repairing the rule may change its definition.
func (docs *Documents) WholeCRDs() []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(docs.CRDs), func(crd *unstructured.Unstructured) bool {
		return slices.ContainsFunc(slices.Concat(docs.Rules, docs.Partial), func(rule *Rule) bool {
			return rule.Parent.Definition == crd && (rule.Partial || rule.Parent.Untyped)
		})
	})
}

// DefinitionsOf are the CustomResourceDefinitions of one text, including those of its rules' schemas.
func (docs *Documents) DefinitionsOf(src *yamltree.Source) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for i, d := range docs.definitions {
		if d.src == src {
			found = append(found, docs.CRDs[i])
		}
	}
	return found
}

func (d definition) place(at DefinitionPlace) diagnostic.Position {
	if d.readers != nil {
		for _, reader := range d.readers {
			if position, ok := reader.Place(at.Path, at.Offset); ok {
				return position
			}
		}
		return d.src.At(d.root)
	}
	value, name := d.root, d.root
	for _, step := range at.Path {
		key, below := value.Step(step)
		if below == nil {
			return d.src.At(value)
		}
		value, name = below, key
	}
	switch {
	case at.Name:
		return d.src.At(name)
	case at.Offset > 0:
		return d.src.Within(value, at.Offset)
	default:
		return d.src.At(value)
	}
}
