package mark

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// The owner of a child is read many times for each of its events; with encoding/json this took a tenth of the
// engine's CPU time. Text that Kanon wrote is parsed in exactly the form in which it was written; anything else is
// left to encoding/json.

// parseOwner parses the content of a former AnnotationOwner.
func parseOwner(text string) (ownerRecord, bool) {
	if record, ok := parseOwnOwner(text); ok {
		return record, true
	}
	var record ownerRecord
	err := json.Unmarshal([]byte(text), &record)
	return record, err == nil
}

// parseOwnOwner parses an ownerRecord as json.Marshal writes it; it returns false for any other text.
func parseOwnOwner(text string) (ownerRecord, bool) {
	var record ownerRecord
	r := ownReader{rest: text}
	r.expect(`{"id":`)
	record.RuleID = r.text()
	r.expect(`,"rule":`)
	record.Rule = r.text()
	r.expect(`,"node":`)
	record.Node = r.text()
	r.expect(`,"parent":`)
	record.Parent = r.ref()
	record.Tracked = r.skip(`,"tracked":true`)
	if r.skip(`,"retain":`) {
		record.Retain = Retain(r.text())
	}
	r.expect(`,"child":`)
	record.Child = r.ref()
	r.expect(`}`)
	return record, !r.failed && r.rest == ""
}

// ownReader parses text of a known form from its beginning.
type ownReader struct {
	rest   string
	failed bool
}

// skip consumes s if it comes next.
func (r *ownReader) skip(s string) bool {
	rest, ok := strings.CutPrefix(r.rest, s)
	r.rest = rest
	return ok
}

// expect consumes s, which must come next.
func (r *ownReader) expect(s string) {
	if !r.skip(s) {
		r.failed = true
	}
}

// text consumes a string without escapes.
func (r *ownReader) text() string {
	r.expect(`"`)
	for i := range len(r.rest) {
		switch c := r.rest[i]; {
		case c == '"':
			s := r.rest[:i]
			r.rest = r.rest[i+1:]
			return s
		case c < ' ' || c == '\\' || c > '~':
			r.failed = true
			return ""
		}
	}
	r.failed = true
	return ""
}

// ref reads a Ref.
func (r *ownReader) ref() Ref {
	var ref Ref
	r.expect(`{`)
	if r.skip(`"group":`) {
		ref.Group = r.text()
		r.expect(`,`)
	}
	r.expect(`"kind":`)
	ref.Kind = r.text()
	if r.skip(`,"namespace":`) {
		ref.Namespace = r.text()
	}
	r.expect(`,"name":`)
	ref.Name = r.text()
	if r.skip(`,"uid":`) {
		ref.UID = types.UID(r.text())
	}
	r.expect(`}`)
	return ref
}
