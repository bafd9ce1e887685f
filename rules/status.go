package rules

import (
	"kanon.dev/kanon/rules/celenv/value"
)

// renderStatus fills in what the parent's status should say. Each leaf stands
// for itself: one that waits or failed keeps the parent's last value, and one
// that reads a skipped child is left out. A list, and a map that comes from an
// expression, is one leaf.
func (e *Evaluation) renderStatus(out *Outcome) {
	if e.prog.status == nil {
		return
	}
	last, has := e.parent["status"]
	val, ok := e.statusNode(e.prog.status, "status", last, has, true, out)
	if fields, isMap := val.(map[string]any); ok && isMap {
		if p := e.holdObject(fields); p != nil {
			out.StatusHeld = true
			out.note(p.under("status"))
			return
		}
		out.Status = fields
		return
	}
	out.StatusHeld = ok || len(out.StatusWaiting)+len(out.StatusFailed) > 0
	if ok {
		out.StatusFailed = append(out.StatusFailed, Problem{Path: "status", Message: "must be a map, and is " + jsonType(val)})
	}
}

// statusNode renders one part of status. last is what the parent has there. As
// a whole, status has no last value: what others wrote there is not ours.
func (e *Evaluation) statusNode(t template, path string, last any, has, whole bool, out *Outcome) (any, bool) {
	if m, ok := t.(mapTemplate); ok {
		if val, ok := e.statusMap(m, path, last, out); ok {
			return val, true
		}
		return keep(last, has && !whole)
	}
	val, ok, p := t.render(&e.base)
	if p == nil {
		return val, ok && val != nil
	}
	out.note(p.under(path))
	return keep(last, has && !whole && p.verdict != skips)
}

// statusMap renders a mapping of status; false when a key of it has no value.
func (e *Evaluation) statusMap(m mapTemplate, path string, last any, out *Outcome) (any, bool) {
	fields, _ := last.(map[string]any)
	rendered := make(map[string]any, len(m.entries))
	for i := range m.entries {
		entry := &m.entries[i]
		name, p := entry.keyOf(&e.base)
		if p != nil {
			out.note(p.under(path + "." + entry.name))
			return nil, false
		}
		old, has := fields[name]
		if val, ok := e.statusNode(entry.value, path+"."+entry.shownKey(name, &e.base), old, has, false, out); ok {
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
