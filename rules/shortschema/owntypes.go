package shortschema

import (
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// ownTypes are the types that a kind has of its own. They are resolved where a field has them.
type ownTypes struct {
	named map[string]named
	// open are those that are being resolved, each within the one before.
	open []string
	// cyclic are those that contain themselves, which was reported.
	cyclic map[string]bool
}

func newOwnTypes() ownTypes { return ownTypes{named: map[string]named{}, cyclic: map[string]bool{}} }

// cycle is the way from a type to the one that is being resolved, if the type contains itself by that; else nil.
func (o *ownTypes) cycle(typ string) []string {
	if i := slices.Index(o.open, typ); i >= 0 {
		return o.open[i:]
	}
	return nil
}

// define takes in the kind's own types.
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
		r.own.named[f.name] = f
	}
}

// CheckTypes reads the types that no field has, so that mistakes in them are found.
func (r *Reader) CheckTypes() {
	columns := r.columns
	for _, name := range slices.Sorted(maps.Keys(r.own.named)) {
		r.resolve(r.own.named[name], nil)
	}
	r.columns = columns // are about fields
}

// resolve makes the schema of one of the kind's own types.
func (r *Reader) resolve(own named, path []string) *made {
	r.own.open = append(r.own.open, own.name)
	defer func() { r.own.open = r.own.open[:len(r.own.open)-1] }()
	return r.namedField(own, path)
}

// reportCycle reports that a type contains itself by way of others, once for these types.
func (r *Reader) reportCycle(at diagnostic.Position, typ string, cycle []string) {
	if r.own.cyclic[typ] {
		return
	}
	for _, name := range cycle {
		r.own.cyclic[name] = true
	}
	r.report(at, diagnostic.CodeShortType, "type %s contains itself (%s): a schema has an end", typ, strings.Join(append(slices.Clone(cycle), typ), " → ")).
		WithHint("write object where it would begin anew")
}

func (r *Reader) unknownType(at diagnostic.Position, typ string) {
	names := slices.Sorted(maps.Keys(r.own.named))
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
