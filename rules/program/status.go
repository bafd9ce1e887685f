package program

import (
	"kanon.dev/kanon/rules/celenv/value"
	"kanon.dev/kanon/rules/program/template"
)

// renderStatus fills in what the parent's status should say. Each leaf stands
// for itself: one that waits or failed keeps the parent's last value, and one
// that reads a skipped child is left out. A list, and a map that comes from an
// expression, is one leaf.
func (e *Evaluation) renderStatus(out *Outcome) {
	if e.prog.Status == nil {
		return
	}
	last, has := e.parent["status"]
	val, ok := e.statusNode(e.prog.Status, "status", last, has, true, out)
	if fields, isMap := val.(map[string]any); ok && isMap {
		if p := e.session.HoldObject(fields); p != nil {
			out.StatusHeld = true
			out.note(p.Under("status"))
			return
		}
		out.Status = fields
		return
	}
	out.StatusHeld = ok || len(out.StatusWaiting)+len(out.StatusFailed) > 0
	if ok {
		out.StatusFailed = append(out.StatusFailed, Problem{Path: "status", Message: "must be a map, and is " + template.TypeOf(val)})
	}
}

// statusNode renders one part of status. last is what the parent has there. As
// a whole, status has no last value: what others wrote there is not ours.
func (e *Evaluation) statusNode(t template.Template, path string, last any, has, whole bool, out *Outcome) (any, bool) {
	if m, ok := t.(template.Map); ok {
		if val, ok := e.statusMap(m, path, last, out); ok {
			return val, true
		}
		return keep(last, has && !whole)
	}
	val, ok, p := t.Render(&e.base)
	if p == nil {
		return val, ok && val != nil
	}
	out.note(p.Under(path))
	return keep(last, has && !whole && p.Verdict != template.Skips)
}

// statusMap renders a mapping of status; false when a key of it has no value.
func (e *Evaluation) statusMap(m template.Map, path string, last any, out *Outcome) (any, bool) {
	fields, _ := last.(map[string]any)
	rendered := make(map[string]any, len(m.Entries))
	for i := range m.Entries {
		entry := &m.Entries[i]
		name, p := entry.KeyOf(&e.base)
		if p != nil {
			out.note(p.Under(path + "." + entry.Name))
			return nil, false
		}
		old, has := fields[name]
		if val, ok := e.statusNode(entry.Value, path+"."+entry.ShownKey(name, &e.base), old, has, false, out); ok {
			rendered[name] = val
		}
	}
	return rendered, true
}

// keep is the last value, copied.
func keep(last any, has bool) (any, bool) {
	if !has || last == nil {
		return nil, false
	}
	return value.CopyJSON(last), true
}
