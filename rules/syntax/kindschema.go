package syntax

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/shortschema"
	"kanon.dev/kanon/rules/yamltree"
)

// schemaPath is where a rule says which fields the parent's kind has.
const schemaPath = "spec.parent.schema"

type kindFields struct {
	Scope       string        `rule:"scope"`
	Plural      string        `rule:"plural"`
	Singular    string        `rule:"singular"`
	ShortNames  []string      `rule:"shortNames"`
	Categories  []string      `rule:"categories"`
	Description string        `rule:"description"`
	Adopt       bool          `rule:"adopt"`
	Versions    []kindVersion `rule:"versions"`
	kindVersion
}

type kindVersion struct {
	Node        *yamltree.Node   `rule:""`
	Name        string           `rule:"name"`
	Served      *bool            `rule:"served"`
	Stored      bool             `rule:"stored"`
	Deprecated  string           `rule:"deprecated"`
	Spec        *yamltree.Node   `rule:"spec"`
	Status      *yamltree.Node   `rule:"status"`
	Types       *yamltree.Node   `rule:"types"`
	Validations []*yamltree.Node `rule:"validations"`
	Columns     []*yamltree.Node `rule:"columns"`
	Scale       *yamltree.Node   `rule:"scale"`
}

func (v *kindVersion) isServed() bool { return v.Served == nil || *v.Served }

// kindSchema builds the definition of the kind that the rule declares. Everything else of the rule is decoded before.
func (d *decoder) kindSchema(r *Rule) {
	before, gvk, fields := len(d.findings), r.Parent.GVK, r.Parent.Schema
	n := fields.Node
	switch {
	case n.Kind != yamltree.Mapping || gvk.Empty():
		return
	case gvk.Group == "" || IsBuiltIn(gvk.Group):
		d.report(n, diagnostic.CodeKindSchema, "%s is a kind of Kubernetes, whose schema nobody can give", gvk.Kind)
		return
	}
	kind := shortschema.Kind{
		GroupKind: gvk.GroupKind(), Plural: fields.Plural, Singular: fields.Singular, Description: fields.Description,
		ShortNames: anys(fields.ShortNames), Categories: anys(fields.Categories), Namespaced: fields.Scope != "Cluster",
		ConditionPrefix: r.ConditionPrefix,
	}
	versions := fields.Versions
	if n.Has("versions") {
		d.checkVersions(n, versions, gvk.Version)
	} else {
		fields.Name, fields.Stored = gvk.Version, true
		versions = []kindVersion{fields.kindVersion}
	}
	var readers []*shortschema.Reader
	for i := range versions {
		made, reader := d.readVersion(&versions[i], i)
		kind.Versions, readers = append(kind.Versions, made), append(readers, reader)
	}
	if r.Status != nil && r.Status.Kind == yamltree.Mapping {
		if conditions := r.Status.Get("conditions"); conditions != nil {
			d.report(conditions, diagnostic.CodeKindSchema, "status.conditions is the list in which Kanon reports on the object").
				WithHint("write spec.conditions, which Kanon adds to it")
		}
	}
	if len(d.findings) > before || r.Parent.Gaps["schema"] {
		return
	}
	r.Parent.kind, r.Parent.readers = &kind, readers
	complete := r.withStatus(untyped, true)
	for _, found := range complete.Conflicts() {
		d.conflict(found, &r.Parent)
	}
	if len(d.findings) > before {
		return
	}
	d.markNames(n, readers[0])
	r.Parent.Definition = &unstructured.Unstructured{}
	r.DefineStatus(anyValue, true)
	d.docs.CRDs = append(d.docs.CRDs, r.Parent.Definition)
	d.docs.definitions = append(d.docs.definitions, definition{src: d.src, root: n, readers: readers})
}

func anys(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	return all
}

func (d *decoder) markNames(n *yamltree.Node, reader *shortschema.Reader) {
	for _, name := range []string{"plural", "singular", "shortNames", "categories"} {
		if of := n.Get(name); of != nil {
			reader.Mark(d.src.At(of), "spec", "names", name)
		}
	}
	if plural := n.Get("plural"); plural != nil {
		reader.Mark(d.src.At(plural), "metadata", "name")
	}
}

// conflict reports that objects cannot be served in two versions without a conversion.
func (d *decoder) conflict(found shortschema.Conflict, p *Parent) {
	at, _ := p.readers[found.Version].Place(found.Path, 0)
	field := strings.Join(found.Field, ".")
	name, other := p.kind.Versions[found.Version].Name, p.kind.Versions[found.Other].Name
	if found.Type == "" {
		d.findings.Report(at, diagnostic.CodeVersions, "%s is in %s and not in %s: who writes an object in %s removes it", field, name, other, other).
			WithHint("add it to %s, or write served: false there", other)
		return
	}
	d.findings.Report(at, diagnostic.CodeVersions, "%s is %s in %s and %s in %s, and there is no conversion between them", field, found.Type, name, found.OtherType, other).
		WithHint("give it the same type in both")
}

func anyValue(*yamltree.Node, []string) map[string]any {
	return map[string]any{"x-kubernetes-preserve-unknown-fields": true}
}

// untyped is the schema of a value whose type is not known yet.
func untyped(*yamltree.Node, []string) map[string]any { return map[string]any{} }

// DefineStatus rebuilds Parent.Definition. Its status has the fields that spec.status sets; leaf is the schema of those
// that spec.parent.schema does not type. open allows other fields in the status as well.
func (r *Rule) DefineStatus(leaf shortschema.Leaf, open bool) {
	kind := r.withStatus(leaf, open)
	r.Parent.Definition.Object = kind.Definition().Object
	r.Parent.defined = &kind
}

// CheckPaths reports the paths of columns and of scale that lead to no field. The status must be defined before.
func (r *Rule) CheckPaths() diagnostic.Findings {
	var list diagnostic.List
	for i := range r.Parent.defined.Versions {
		v := &r.Parent.defined.Versions[i]
		for n, item := range v.Columns {
			column, _ := item.(map[string]any)
			r.checkPath(&list, i, column["jsonPath"], append(columnPath(i, n), "jsonPath"), "")
		}
		for name, of := range map[string]struct {
			typ string
			in  []string
		}{"specReplicasPath": {"integer", []string{".spec."}}, "statusReplicasPath": {"integer", []string{".status."}}, "labelSelectorPath": {"string", []string{".spec.", ".status."}}} {
			r.checkPath(&list, i, v.Scale[name], scalePath(i, name), of.typ, of.in...)
		}
	}
	return list.Findings(r.Source).Sorted()
}

// checkPath checks a path of a version at a place of the definition. typ is the type that it must lead to, and in how
// it may begin; empty: anything.
func (r *Rule) checkPath(list *diagnostic.List, version int, path any, place []string, typ string, in ...string) {
	text, _ := path.(string)
	if text == "" {
		return
	}
	found := r.Parent.defined.Versions[version].Find(text)
	at, ok := r.Parent.readers[version].Place(place, found.Offset)
	switch {
	case !ok:
	case found.Wrong != "":
		list.Report(at, diagnostic.CodeKindSchema, "%s %s", text, found.Wrong).Suggest(found.Name, found.Names)
	case typ != "" && found.Type != "" && found.Type != typ:
		list.Report(at, diagnostic.CodeKindSchema, "%s leads to a field of type %s: scale wants %s", text, found.Type, typ)
	case len(in) > 0 && !slices.ContainsFunc(in, func(start string) bool { return strings.HasPrefix(text, start) }):
		list.Report(at, diagnostic.CodeKindSchema, "%s does not begin with %s, as scale wants it", text, strings.Join(in, " or "))
	}
}

// withStatus is the kind with the fields that spec.status sets.
func (r *Rule) withStatus(leaf shortschema.Leaf, open bool) shortschema.Kind {
	kind := *r.Parent.kind
	kind.Versions = slices.Clone(kind.Versions)
	for i := range kind.Versions {
		v := &kind.Versions[i]
		v.Status, v.OpenStatus = runtime.DeepCopyJSON(v.Status), open
		if r.Status != nil {
			v.Status = r.Parent.readers[i].Set(v.Status, r.Status, leaf, shortschema.Path(i, "properties", "status")...)
		}
	}
	return kind
}

// checkVersions checks that one version is stored, and that the rule's own version is served.
func (d *decoder) checkVersions(n *yamltree.Node, versions []kindVersion, own string) {
	for _, name := range []string{"spec", "status", "types", "validations", "columns", "scale"} {
		if of := n.Get(name); of != nil {
			d.report(of, diagnostic.CodeKindSchema, "each of the versions has its own %s", name).WithHint("move it to the versions")
		}
	}
	at := slices.IndexFunc(versions, func(v kindVersion) bool { return v.Name == own })
	switch {
	case at < 0:
		d.report(n.Get("versions"), diagnostic.CodeKindSchema, "the versions lack %s, which the rule's apiVersion names", own)
	case !versions[at].isServed():
		d.report(versions[at].Node, diagnostic.CodeKindSchema, "%s is the version of the rule's apiVersion: it must be served", own)
	}
	if len(versions) == 1 {
		versions[0].Stored = true
	}
	stored := 0
	for _, v := range versions {
		if v.Stored {
			stored++
		}
	}
	if stored != 1 {
		d.report(n.Get("versions"), diagnostic.CodeKindSchema, "stored must be true for one version, and is for %d", stored)
	}
}

// readVersion builds the schemas of a version. index is its index in the definition.
func (d *decoder) readVersion(v *kindVersion, index int) (shortschema.Version, *shortschema.Reader) {
	made := shortschema.Version{Name: v.Name, Unserved: !v.isServed(), Stored: v.Stored, Warning: v.Deprecated}
	reader := shortschema.NewReader(d.src, v.Types, d.findings.Report)
	reader.CheckTypes()
	reader.Mark(d.src.At(v.Node), "spec", "versions", strconv.Itoa(index))
	for name, as := range map[string]string{"name": "name", "deprecated": "deprecationWarning"} {
		if of := v.Node.Get(name); of != nil {
			reader.Mark(d.src.At(of), "spec", "versions", strconv.Itoa(index), as)
		}
	}
	if len(v.Validations) > 0 {
		reader.Constrain()
	}
	if v.Spec != nil {
		made.Spec = reader.Root(v.Spec, shortschema.Path(index, "properties", "spec")...)
	}
	if v.Status != nil {
		made.Status = reader.Root(v.Status, shortschema.Path(index, "properties", "status")...)
	}
	if v.Scale != nil {
		names := map[string]string{"specReplicas": "specReplicasPath", "statusReplicas": "statusReplicasPath", "labelSelector": "labelSelectorPath"}
		made.Scale = d.part(v.Scale, names, reader, scalePath(index))
	}
	for i, item := range v.Columns {
		made.Columns = append(made.Columns, d.part(item, map[string]string{"value": "jsonPath"}, reader, columnPath(index, i)))
	}
	made.Columns = append(made.Columns, reader.Columns()...)
	for _, item := range v.Validations {
		d.validation(item, reader, index, &made)
	}
	made.Validations = append(made.Validations, reader.Complete()...)
	return made, reader
}

// part is a mapping as the definition has it, at a path. names are the fields that have another name there. It is nil for
// nil, after a finding.
func (d *decoder) part(n *yamltree.Node, names map[string]string, reader *shortschema.Reader, path []string) map[string]any {
	made := map[string]any{}
	if n == nil {
		return made
	}
	reader.Mark(d.src.At(n), path...)
	for _, f := range n.Fields {
		as := cmp.Or(names[f.Name], f.Name)
		made[as] = f.Value.Value
		reader.MarkText(f.Value, 0, append(slices.Clone(path), as)...)
	}
	return made
}

func columnPath(version, i int) []string {
	return []string{"spec", "versions", strconv.Itoa(version), "additionalPrinterColumns", strconv.Itoa(i)}
}

// scalePath is the path of the scale subresource in the definition, or of a part of it.
func scalePath(version int, more ...string) []string {
	return append([]string{"spec", "versions", strconv.Itoa(version), "subresources", "scale"}, more...)
}

// validation adds a validation of spec, or of whole objects.
func (d *decoder) validation(n *yamltree.Node, reader *shortschema.Reader, version int, v *shortschema.Version) {
	place := shortschema.Path(version, "properties", "spec", "x-kubernetes-validations", strconv.Itoa(len(validationsOf(v.Spec))))
	self, _ := n.Get("self").Text()
	if self == "Object" {
		place = shortschema.Path(version, "x-kubernetes-validations", strconv.Itoa(len(v.Validations)))
	}
	made := d.part(n, map[string]string{"path": "fieldPath"}, reader, place)
	delete(made, "self")
	if self == "Object" {
		v.Validations = append(v.Validations, made)
		return
	}
	if v.Spec == nil {
		v.Spec = map[string]any{"type": "object"}
	}
	v.Spec["x-kubernetes-validations"] = append(validationsOf(v.Spec), made)
}

func validationsOf(schema map[string]any) []any {
	rules, _ := schema["x-kubernetes-validations"].([]any)
	return rules
}

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
	return heldFinding(r.Source, r.Source.At(r.Parent.Schema.Node), message, hint)
}

func heldFinding(src *yamltree.Source, at diagnostic.Position, message, hint string) diagnostic.Finding {
	f := diagnostic.New(at, diagnostic.CodeHeldCRD, "%s", message)
	f.Hint = hint
	return *f.WithLines(src)
}

// IsBeside reports whether CRDs[i] is beside rules, and does not come from a rule's schema.
func (docs *Documents) IsBeside(i int) bool { return docs.definitions[i].readers == nil }

// AboutDefinition is a finding about the effect of CRDs[i] in a cluster.
func (docs *Documents) AboutDefinition(i int, message, hint string) diagnostic.Finding {
	d := docs.definitions[i]
	return heldFinding(d.src, d.place(DefinitionPlace{Path: []string{"metadata", "name"}}), message, hint)
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
