package shortschema

import (
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// define reads the kind's own types.
func (r *Reader) define(types *yamltree.Node) {
	if types.Kind != yamltree.Mapping {
		r.report(r.source.At(types), diagnostic.CodeFieldType, "types must be a mapping, and is %s", types.What())
		return
	}
	for _, f := range r.named(types) {
		if t, ok := typeOf(f.name); ok {
			r.report(r.source.At(f.Key), diagnostic.CodeShortType, "%s is a type of every schema: %s", f.name, strings.TrimSuffix(t.Doc, ".")).WithHint("give your type another name")
			continue
		}
		r.own[f.name] = f
	}
}

// CheckTypes reads all of the kind's own types, so that mistakes are found in those that no field uses.
func (r *Reader) CheckTypes() {
	columns := r.columns
	for _, name := range slices.Sorted(maps.Keys(r.own)) {
		r.resolve(r.own[name], nil)
	}
	r.columns = columns // only fields have columns
}

// resolve returns the schema of one of the kind's own types.
func (r *Reader) resolve(own named, path []string) *made {
	r.open = append(r.open, own.name)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	return r.namedField(own, path)
}

// reportCycle reports that a type contains itself, once for all types of the cycle.
func (r *Reader) reportCycle(at diagnostic.Position, typ string, cycle []string) {
	if r.cyclic[typ] {
		return
	}
	for _, name := range cycle {
		r.cyclic[name] = true
	}
	r.report(at, diagnostic.CodeShortType, "type %s contains itself (%s): a schema has an end", typ, strings.Join(append(slices.Clone(cycle), typ), " → ")).
		WithHint("write object where it would begin anew")
}

func (r *Reader) unknownType(at diagnostic.Position, typ string) {
	names := slices.Sorted(maps.Keys(r.own))
	for _, t := range Types() {
		names = append(names, t.Name)
	}
	switch other := foreign(typ); {
	case typ == "":
		r.report(at, diagnostic.CodeShortType, "the type is missing").WithHint("write it before the |, such as string | required")
	case other != "":
		f := r.report(at, diagnostic.CodeShortType, "unknown type %q", typ)
		f.WithHint("write %s", other)
		f.WithEdit(at, typ, other)
	case strings.ContainsAny(typ, "= "):
		r.report(at, diagnostic.CodeShortType, "unknown type %q", typ).WithHint("write | between the type and its markers")
	default:
		r.report(at, diagnostic.CodeShortType, "unknown type %q", typ).Suggest(typ, names)
	}
}
