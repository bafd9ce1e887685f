package syntax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/shortschema"
	"kanon.dev/kanon/rules/yamltree"
)

// kindVersion is one version of a kind, as it is written.
type kindVersion struct {
	made shortschema.Version
	// node is the mapping that has the fields.
	node                *yamltree.Node
	spec, status, types *yamltree.Node
	validations         []*yamltree.Node
	columns             []*yamltree.Node
}

// kindSchema decodes spec.parent.schema, and makes the definition of the kind. It comes after the kind.
func (d *decoder) kindSchema(n *yamltree.Node, r *Rule) {
	const path = "spec.parent.schema"
	before, gvk := len(d.findings), r.Parent.GVK
	kind := shortschema.Kind{Namespaced: true}
	kind.GroupKind = gvk.GroupKind()
	only := kindVersion{node: n}
	only.made.Name, only.made.Stored = gvk.Version, true
	var versions []kindVersion
	texts := func(n *yamltree.Node, path string) (all []string) {
		for i, item := range d.list(n, path) {
			if text, ok := d.plainString(item, fmt.Sprintf("%s[%d]", path, i)); ok {
				all = append(all, text)
			}
		}
		return all
	}
	fields := d.schemaOfVersion(path, &only)
	fields["scope"] = func(n *yamltree.Node) {
		kind.Namespaced = d.word(n, path+".scope", language.KindSchema().Words("scope")) != "Cluster"
	}
	fields["plural"] = func(n *yamltree.Node) { kind.Plural, _ = d.plainString(n, path+".plural") }
	fields["singular"] = func(n *yamltree.Node) { kind.Singular, _ = d.plainString(n, path+".singular") }
	fields["shortNames"] = func(n *yamltree.Node) { kind.ShortNames = texts(n, path+".shortNames") }
	fields["categories"] = func(n *yamltree.Node) { kind.Categories = texts(n, path+".categories") }
	fields["adopt"] = func(n *yamltree.Node) { r.Parent.AdoptDefinition = d.boolean(n, path+".adopt") }
	fields["versions"] = func(n *yamltree.Node) { versions = d.kindVersions(n, path+".versions") }
	d.object(n, path, language.KindSchema(), fields)
	if n.Kind != yamltree.Mapping || gvk.Empty() {
		return
	}
	if gvk.Group == "" || IsBuiltIn(gvk.Group) {
		d.report(n, diagnostic.CodeKindSchema, "%s is a kind of Kubernetes, whose schema nobody can give", gvk.Kind)
		return
	}
	if n.Has("versions") {
		d.checkVersions(n, versions, gvk.Version)
	} else {
		versions = []kindVersion{only}
	}
	generated := definition{src: d.src, root: n}
	for i := range versions {
		reader := d.readVersion(&versions[i], i, r)
		generated.readers = append(generated.readers, reader)
		kind.Versions = append(kind.Versions, versions[i].made)
	}
	if len(d.findings) > before || n.Partial {
		return
	}
	r.Parent.Definition = kind.Definition()
	d.docs.CRDs = append(d.docs.CRDs, r.Parent.Definition)
	d.docs.definitions = append(d.docs.definitions, generated)
}

// schemaOfVersion decodes the fields that are the schema of a version.
func (d *decoder) schemaOfVersion(path string, v *kindVersion) decoders {
	return decoders{
		"spec":        func(n *yamltree.Node) { v.spec = n },
		"status":      func(n *yamltree.Node) { v.status = n },
		"types":       func(n *yamltree.Node) { v.types = n },
		"validations": func(n *yamltree.Node) { v.validations = d.list(n, path+".validations") },
		"columns":     func(n *yamltree.Node) { v.columns = d.list(n, path+".columns") },
		"scale": func(n *yamltree.Node) {
			scale := map[string]any{}
			text := func(name, as string) func(*yamltree.Node) {
				return func(n *yamltree.Node) { scale[as], _ = d.plainString(n, path+".scale."+name) }
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
		v.node = item
		fields := d.schemaOfVersion(at, v)
		fields["name"] = func(n *yamltree.Node) { v.made.Name, _ = d.plainString(n, at+".name") }
		fields["served"] = func(n *yamltree.Node) { v.made.Unserved = !d.boolean(n, at+".served") }
		fields["stored"] = func(n *yamltree.Node) { v.made.Stored = d.boolean(n, at+".stored") }
		fields["deprecated"] = func(n *yamltree.Node) { v.made.Warning, _ = d.plainString(n, at+".deprecated") }
		d.object(item, at, language.KindVersion(), fields)
	}
	return versions
}

// checkVersions sees to it that the versions are whole: one is stored, and the rule's own is served.
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

// readVersion makes the schemas of a version.
func (d *decoder) readVersion(v *kindVersion, index int, r *Rule) *shortschema.Reader {
	reader := shortschema.NewReader(d.src, v.types, d.findings.Report)
	reader.CheckTypes()
	reader.Mark(d.src.At(v.node), "spec", "versions", strconv.Itoa(index))
	if v.spec != nil {
		v.made.Spec = reader.Object(v.spec, shortschema.Path(index, "properties", "spec")...)
	}
	status := shortschema.Path(index, "properties", "status")
	if v.status != nil {
		v.made.Status = reader.Object(v.status, status...)
	}
	if r.Status != nil {
		v.made.Status = reader.Set(v.made.Status, r.Status, status...)
	}
	var columns []map[string]any
	for i, item := range v.columns {
		columns = append(columns, d.column(item, i, reader, index, &v.made))
	}
	for _, c := range reader.Columns() {
		at := "." + strings.Join(slices.DeleteFunc(slices.Clone(c.Path[len(shortschema.Path(index)):]), func(step string) bool { return step == "properties" }), ".")
		columns = append(columns, map[string]any{"name": c.Title, "type": c.Type, "jsonPath": at})
	}
	for _, column := range columns {
		v.made.Columns = append(v.made.Columns, column)
	}
	for i, item := range v.validations {
		d.validation(item, i, reader, index, &v.made)
	}
	return reader
}

// column decodes a column.
func (d *decoder) column(n *yamltree.Node, i int, reader *shortschema.Reader, version int, v *shortschema.Version) map[string]any {
	path, made := fmt.Sprintf("columns[%d]", i), map[string]any{}
	in := []string{"spec", "versions", strconv.Itoa(version), "additionalPrinterColumns", strconv.Itoa(i)}
	reader.Mark(d.src.At(n), in...)
	text := func(name, as string) func(*yamltree.Node) {
		return func(n *yamltree.Node) {
			made[as], _ = d.plainString(n, path+"."+name)
			reader.Mark(d.src.At(n), append(slices.Clone(in), as)...)
		}
	}
	d.object(n, path, language.Column(), decoders{
		"name": text("name", "name"), "value": text("value", "jsonPath"), "format": text("format", "format"), "description": text("description", "description"),
		"type": func(n *yamltree.Node) { made["type"] = d.word(n, path+".type", language.Column().Words("type")) },
		"priority": func(n *yamltree.Node) {
			made["priority"] = n.Value
			if priority, ok := n.Value.(int64); !ok {
				d.report(n, diagnostic.CodeFieldType, "%s.priority must be a whole number, and is %s", path, n.What())
			} else if priority < 0 {
				d.report(n, diagnostic.CodeFieldType, "%s.priority must be a whole number from 0, and is %d", path, priority)
			}
		},
	})
	if made["type"] == nil {
		of, _ := made["jsonPath"].(string)
		made["type"] = v.TypeAt(of)
	}
	return made
}

// validation decodes a validation of spec.
func (d *decoder) validation(n *yamltree.Node, i int, reader *shortschema.Reader, version int, v *shortschema.Version) {
	path, made := fmt.Sprintf("validations[%d]", i), map[string]any{}
	if v.Spec == nil {
		v.Spec = map[string]any{"type": "object"}
	}
	rules, _ := v.Spec["x-kubernetes-validations"].([]any)
	in := shortschema.Path(version, "properties", "spec", "x-kubernetes-validations", strconv.Itoa(len(rules)))
	reader.Mark(d.src.At(n), in...)
	text := func(name, as string) func(*yamltree.Node) {
		return func(n *yamltree.Node) {
			made[as], _ = d.plainString(n, path+"."+name)
			reader.Mark(d.src.At(n), append(slices.Clone(in), as)...)
		}
	}
	d.object(n, path, language.Validation(), decoders{
		"rule": text("rule", "rule"), "message": text("message", "message"), "messageExpression": text("messageExpression", "messageExpression"),
		"path": text("path", "fieldPath"),
		"reason": func(n *yamltree.Node) {
			made["reason"] = d.word(n, path+".reason", language.Validation().Words("reason"))
		},
	})
	v.Spec["x-kubernetes-validations"] = append(rules, made)
}
