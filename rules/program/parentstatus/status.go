package parentstatus

import (
	"kanon.dev/kanon/rules/celenv/value"
	"kanon.dev/kanon/rules/program/template"
)

// Render renders a status. last is the parent's status, and note is called for each leaf that has no value now. A leaf
// that waits or failed keeps the parent's last value, and one that reads a skipped child is left out. A list is one
// leaf, and so is a map from an expression.
//
// held is true if the status as a whole has no value now; fields are nil then.
func Render(t template.Template, s template.Scope, last any, note func(*template.Problem)) (fields map[string]any, held bool) {
	r := renderer{scope: s, note: func(p *template.Problem) {
		held = held || p.Verdict != template.Skips
		note(p)
	}}
	val, ok := r.node(t, "status", last, last != nil, true)
	fields, isMap := val.(map[string]any)
	switch {
	case !ok:
		return nil, held
	case !isMap:
		note(template.Failure("must be a map, and is %s", template.TypeOf(val)).Under("status"))
		return nil, true
	}
	if p := s.Session().HoldObject(fields); p != nil {
		note(p.Under("status"))
		return nil, true
	}
	return fields, false
}

type renderer struct {
	scope template.Scope
	note  func(*template.Problem)
}

// node renders one part of the status. last is the parent's value there. The status as a whole has no last value: what
// others wrote there is not ours.
func (r *renderer) node(t template.Template, path string, last any, has, whole bool) (any, bool) {
	if m, ok := t.(template.Map); ok {
		if val, ok := r.fields(m, path, last); ok {
			return val, true
		}
		return keep(last, has && !whole)
	}
	val, ok, p := t.Render(r.scope)
	if p == nil {
		return val, ok && val != nil
	}
	r.note(p.Under(path))
	return keep(last, has && !whole && p.Verdict != template.Skips)
}

// fields renders a mapping; false if a key has no value.
func (r *renderer) fields(m template.Map, path string, last any) (any, bool) {
	before, _ := last.(map[string]any)
	rendered := make(map[string]any, len(m.Entries))
	for i := range m.Entries {
		entry := &m.Entries[i]
		name, p := entry.KeyOf(r.scope)
		if p != nil {
			r.note(p.Under(path + "." + entry.Name))
			return nil, false
		}
		old, has := before[name]
		if val, ok := r.node(entry.Value, path+"."+entry.ShownKey(name, r.scope), old, has, false); ok {
			rendered[name] = val
		}
	}
	return rendered, true
}

// keep copies the last value.
func keep(last any, has bool) (any, bool) {
	if !has || last == nil {
		return nil, false
	}
	return value.CopyJSON(last), true
}
