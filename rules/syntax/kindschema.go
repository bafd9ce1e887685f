package syntax

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/shortschema"
	"kanon.dev/kanon/rules/yamltree"
)

// schemaPath is where a rule says which fields the parent's kind has.
const schemaPath = "spec.parent.schema"

// kindVersion is one version of a kind, as the rule has it.
type kindVersion struct {
	made shortschema.Version
	// node is the mapping that has the fields, and path its path.
	node                *yamltree.Node
	path                string
	spec, status, types *yamltree.Node
	validations         []*yamltree.Node
	columns             []*yamltree.Node
	// scale has the paths, by their names in the definition.
	scale map[string]*yamltree.Node
}

// kindSchema decodes spec.parent.schema and builds the definition of the kind. The kind is decoded before.
func (d *decoder) kindSchema(n *yamltree.Node, r *Rule) {
	before, gvk := len(d.findings), r.Parent.GVK
	kind := shortschema.Kind{Namespaced: true}
	kind.GroupKind = gvk.GroupKind()
	only := kindVersion{node: n, path: schemaPath}
	only.made.Name, only.made.Stored = gvk.Version, true
	var versions []kindVersion
	fields := d.schemaOfVersion(schemaPath, &only)
	d.addNames(fields, &kind)
	fields["adopt"] = func(n *yamltree.Node) { r.Parent.AdoptDefinition = d.boolean(n, schemaPath+".adopt") }
	fields["versions"] = func(n *yamltree.Node) { versions = d.kindVersions(n, schemaPath+".versions") }
	d.object(n, schemaPath, language.KindSchema(), fields)
	switch {
	case n.Kind != yamltree.Mapping || gvk.Empty():
		return
	case gvk.Group == "" || IsBuiltIn(gvk.Group):
		d.report(n, diagnostic.CodeKindSchema, "%s is a kind of Kubernetes, whose schema nobody can give", gvk.Kind)
		return
	case n.Has("versions"):
		d.checkVersions(n, versions, gvk.Version)
	default:
		versions = []kindVersion{only}
	}
	var readers []*shortschema.Reader
	for i := range versions {
		readers = append(readers, d.readVersion(&versions[i], i))
		kind.Versions = append(kind.Versions, versions[i].made)
	}
	if r.Status != nil && r.Status.Kind == yamltree.Mapping {
		if conditions := r.Status.Get("conditions"); conditions != nil {
			d.report(conditions, diagnostic.CodeKindSchema, "status.conditions is the list in which Kanon reports on the object").
				WithHint("write spec.conditions, which Kanon adds to it")
		}
	}
	if len(d.findings) > before || n.Partial {
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

// addNames adds the fields that apply to all versions.
func (d *decoder) addNames(fields decoders, kind *shortschema.Kind) {
	texts := func(n *yamltree.Node, path string) (all []any) {
		for i, item := range d.list(n, path) {
			if text, ok := d.plainString(item, fmt.Sprintf("%s[%d]", path, i)); ok {
				all = append(all, text)
			}
		}
		return all
	}
	fields["scope"] = func(n *yamltree.Node) {
		kind.Namespaced = d.word(n, schemaPath+".scope", language.KindSchema().Words("scope")) != "Cluster"
	}
	fields["plural"] = func(n *yamltree.Node) { kind.Plural, _ = d.plainString(n, schemaPath+".plural") }
	fields["singular"] = func(n *yamltree.Node) { kind.Singular, _ = d.plainString(n, schemaPath+".singular") }
	fields["description"] = func(n *yamltree.Node) { kind.Description, _ = d.plainString(n, schemaPath+".description") }
	fields["shortNames"] = func(n *yamltree.Node) { kind.ShortNames = texts(n, schemaPath+".shortNames") }
	fields["categories"] = func(n *yamltree.Node) { kind.Categories = texts(n, schemaPath+".categories") }
}

// markNames records the positions of the kind's names.
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

// anyValue is the schema of any value.
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

// schemaOfVersion decodes the fields of a version's schema.
func (d *decoder) schemaOfVersion(path string, v *kindVersion) decoders {
	return decoders{
		"spec":        func(n *yamltree.Node) { v.spec = n },
		"status":      func(n *yamltree.Node) { v.status = n },
		"types":       func(n *yamltree.Node) { v.types = n },
		"validations": func(n *yamltree.Node) { v.validations = d.list(n, path+".validations") },
		"columns":     func(n *yamltree.Node) { v.columns = d.list(n, path+".columns") },
		"scale": func(n *yamltree.Node) {
			scale := map[string]any{}
			v.scale = make(map[string]*yamltree.Node)
			text := func(name, as string) func(*yamltree.Node) {
				return func(n *yamltree.Node) { scale[as], _ = d.plainString(n, path+".scale."+name); v.scale[as] = n }
			}
			d.object(n, path+".scale", language.Scale(), decoders{
				"specReplicas":   text("specReplicas", "specReplicasPath"),
				"statusReplicas": text("statusReplicas", "statusReplicasPath"),
				"labelSelector":  text("labelSelector", "labelSelectorPath"),
			})
			v.made.Scale = scale
		},
	}
}

func (d *decoder) kindVersions(n *yamltree.Node, path string) []kindVersion {
	items := d.list(n, path)
	versions := make([]kindVersion, len(items))
	for i, item := range items {
		v, at := &versions[i], fmt.Sprintf("%s[%d]", path, i)
		v.node, v.path = item, at
		fields := d.schemaOfVersion(at, v)
		fields["name"] = func(n *yamltree.Node) { v.made.Name, _ = d.plainString(n, at+".name") }
		fields["served"] = func(n *yamltree.Node) { v.made.Unserved = !d.boolean(n, at+".served") }
		fields["stored"] = func(n *yamltree.Node) { v.made.Stored = d.boolean(n, at+".stored") }
		fields["deprecated"] = func(n *yamltree.Node) { v.made.Warning, _ = d.plainString(n, at+".deprecated") }
		d.object(item, at, language.KindVersion(), fields)
	}
	return versions
}

// checkVersions checks that one version is stored, and that the rule's own version is served.
func (d *decoder) checkVersions(n *yamltree.Node, versions []kindVersion, own string) {
	for _, name := range []string{"spec", "status", "types", "validations", "columns", "scale"} {
		if of := n.Get(name); of != nil {
			d.report(of, diagnostic.CodeKindSchema, "each of the versions has its own %s", name).WithHint("move it to the versions")
		}
	}
	at := slices.IndexFunc(versions, func(v kindVersion) bool { return v.made.Name == own })
	switch {
	case at < 0:
		d.report(n.Get("versions"), diagnostic.CodeKindSchema, "the versions lack %s, which the rule's apiVersion names", own)
	case versions[at].made.Unserved:
		d.report(versions[at].node, diagnostic.CodeKindSchema, "%s is the version of the rule's apiVersion: it must be served", own)
	}
	if len(versions) == 1 {
		versions[0].made.Stored = true
	}
	stored := 0
	for _, v := range versions {
		if v.made.Stored {
			stored++
		}
	}
	if stored != 1 {
		d.report(n.Get("versions"), diagnostic.CodeKindSchema, "stored must be true for one version, and is for %d", stored)
	}
}

// readVersion builds the schemas of a version.
func (d *decoder) readVersion(v *kindVersion, index int) *shortschema.Reader {
	reader := shortschema.NewReader(d.src, v.types, d.findings.Report)
	reader.CheckTypes()
	reader.Mark(d.src.At(v.node), "spec", "versions", strconv.Itoa(index))
	for name, as := range map[string]string{"name": "name", "deprecated": "deprecationWarning"} {
		if of := v.node.Get(name); of != nil {
			reader.Mark(d.src.At(of), "spec", "versions", strconv.Itoa(index), as)
		}
	}
	if len(v.validations) > 0 {
		reader.Constrain()
	}
	if v.spec != nil {
		v.made.Spec = reader.Root(v.spec, shortschema.Path(index, "properties", "spec")...)
	}
	if v.status != nil {
		v.made.Status = reader.Root(v.status, shortschema.Path(index, "properties", "status")...)
	}
	for name, of := range v.scale {
		reader.MarkText(of, 0, scalePath(index, name)...)
	}
	for i, item := range v.columns {
		v.made.Columns = append(v.made.Columns, d.column(item, fmt.Sprintf("%s.columns[%d]", v.path, i), reader, columnPath(index, i)))
	}
	v.made.Columns = append(v.made.Columns, reader.Columns()...)
	for i, item := range v.validations {
		d.validation(item, fmt.Sprintf("%s.validations[%d]", v.path, i), reader, index, &v.made)
	}
	v.made.Validations = append(v.made.Validations, reader.Complete()...)
	return reader
}

// columnPath is the path of a column in the definition.
func columnPath(version, i int) []string {
	return []string{"spec", "versions", strconv.Itoa(version), "additionalPrinterColumns", strconv.Itoa(i)}
}

// scalePath is the path of a scale path in the definition.
func scalePath(version int, name string) []string {
	return []string{"spec", "versions", strconv.Itoa(version), "subresources", "scale", name}
}

// column decodes a column. in is its path in the definition.
func (d *decoder) column(n *yamltree.Node, path string, reader *shortschema.Reader, in []string) map[string]any {
	made := map[string]any{}
	reader.Mark(d.src.At(n), in...)
	text := func(name, as string) func(*yamltree.Node) {
		return func(n *yamltree.Node) {
			made[as], _ = d.plainString(n, path+"."+name)
			reader.MarkText(n, 0, append(slices.Clone(in), as)...)
		}
	}
	d.object(n, path, language.Column(), decoders{
		"name": text("name", "name"), "value": text("value", "jsonPath"), "description": text("description", "description"),
		"type":   func(n *yamltree.Node) { made["type"] = d.word(n, path+".type", language.Column().Words("type")) },
		"format": func(n *yamltree.Node) { made["format"] = d.word(n, path+".format", language.Column().Words("format")) },
		"priority": func(n *yamltree.Node) {
			made["priority"] = n.Value
			if priority, ok := n.Value.(int64); !ok {
				d.report(n, diagnostic.CodeFieldType, "%s.priority must be a whole number, and is %s", path, n.What())
			} else if priority < 0 || priority > math.MaxInt32 {
				d.report(n, diagnostic.CodeFieldType, "%s.priority must be a whole number from 0 to %d, and is %d", path, math.MaxInt32, priority)
			}
		},
	})
	return made
}

// validation decodes a validation of spec, or of whole objects.
func (d *decoder) validation(n *yamltree.Node, path string, reader *shortschema.Reader, version int, v *shortschema.Version) {
	made := map[string]any{}
	place := shortschema.Path(version, "properties", "spec", "x-kubernetes-validations", strconv.Itoa(len(validationsOf(v.Spec))))
	self, _ := n.Get("self").Text() // before the others, because it says where they will be
	ofObject := self == "Object"
	if ofObject {
		place = shortschema.Path(version, "x-kubernetes-validations", strconv.Itoa(len(v.Validations)))
	}
	reader.Mark(d.src.At(n), place...)
	text := func(name, as string) func(*yamltree.Node) {
		return func(n *yamltree.Node) {
			made[as], _ = d.plainString(n, path+"."+name)
			reader.MarkText(n, 0, append(slices.Clone(place), as)...)
		}
	}
	words := language.Validation()
	d.object(n, path, words, decoders{
		"rule": text("rule", "rule"), "message": text("message", "message"), "messageExpression": text("messageExpression", "messageExpression"),
		"path":            text("path", "fieldPath"),
		"self":            func(n *yamltree.Node) { d.word(n, path+".self", words.Words("self")) },
		"reason":          func(n *yamltree.Node) { made["reason"] = d.word(n, path+".reason", words.Words("reason")) },
		"optionalOldSelf": func(n *yamltree.Node) { made["optionalOldSelf"] = d.boolean(n, path+".optionalOldSelf") },
	})
	if ofObject {
		v.Validations = append(v.Validations, made)
		return
	}
	if v.Spec == nil {
		v.Spec = map[string]any{"type": "object"}
	}
	v.Spec["x-kubernetes-validations"] = append(validationsOf(v.Spec), made)
}

// validationsOf are the validations of a schema.
func validationsOf(schema map[string]any) []any {
	rules, _ := schema["x-kubernetes-validations"].([]any)
	return rules
}
