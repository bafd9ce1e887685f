package explain

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules/syntax"
)

// Writing is what one rule writes to an object.
type Writing struct {
	// Rule is namespace/name, or only the name.
	Rule string `json:"rule"`
	// Part is the part of the rule, such as "child deployment", "patch tag" or "status".
	Part   string   `json:"part"`
	Parent mark.Ref `json:"parent"`
	// Manager is the field manager.
	Manager string  `json:"manager"`
	Fields  []Field `json:"-"`
	// Ignored are the fields that are left to others.
	Ignored []syntax.IgnorePath `json:"-"`
	// Problem says why nothing is rendered now, and Kept why nothing is written. Either may be empty.
	Problem string `json:"problem,omitempty"`
	Kept    string `json:"kept,omitempty"`
	// Refuses is true for a patch that does not take fields from other managers.
	Refuses bool `json:"-"`
}

// State compares a live field with what rules render.
type State string

// The states of a field.
const (
	// InSync means that the live value is the rendered one, and Kanon owns the field.
	InSync State = "InSync"
	// Differs means that Kanon writes the field at the next reconcile.
	Differs State = "Differs"
	// LeftToOthers means that the rule ignores the field after the creation.
	LeftToOthers State = "LeftToOthers"
	// NotWritten means that a rule has the field, but Kanon does not write it now.
	NotWritten State = "NotWritten"
	// Withdrawn means that Kanon owns the field, but no rule renders it any more.
	Withdrawn State = "Withdrawn"
	// Unmanaged means that no rule writes the field.
	Unmanaged State = "Unmanaged"
	// Absent means that the object does not have the field, and the rule gives it no value.
	Absent State = "Absent"
)

// facts are the inputs of decide for one field.
type facts struct {
	path    Path
	live    any
	exists  bool
	hidden  bool
	owners  []Owner
	writing *Writing
	field   *Field
}

// decide returns the state of a field, and says what Kanon does about it.
func decide(f facts) (State, string) {
	if f.field == nil {
		return decideUnrendered(f)
	}
	w := f.writing
	own := slices.ContainsFunc(f.owners, func(o Owner) bool { return o.Manager == w.Manager })
	others := slices.DeleteFunc(slices.Clone(f.owners), func(o Owner) bool { return o.Manager == w.Manager })
	same := f.exists && !f.field.Absent && sameValue(f.field.raw, f.live)
	switch {
	case f.field.Problem != "":
		return NotWritten, "the rule has no value for it now: " + f.field.Problem
	case f.field.Absent && !f.exists:
		return Absent, "the rule gives it no value, and the object does not have it"
	case f.field.Absent && !own:
		return Unmanaged, "the rule gives it no value now; " + whose(f.owners)
	case f.field.Absent:
		return Withdrawn, "the rule gives it no value any more: Kanon removes it at the next reconcile"
	case ignored(f.path, w.Ignored) != "" && !same:
		return LeftToOthers, fmt.Sprintf("the rule leaves %s to others, and renders %s only when it creates the object", ignored(f.path, w.Ignored), shownValue(f.field.raw, f.hidden))
	case ignored(f.path, w.Ignored) != "":
		return LeftToOthers, fmt.Sprintf("the rule leaves %s to others", ignored(f.path, w.Ignored))
	case w.Kept != "" && !same:
		return NotWritten, fmt.Sprintf("the rule renders %s; the object %s", shownValue(f.field.raw, f.hidden), w.Kept)
	case !f.exists:
		return Differs, "the object does not have it: Kanon sets it at the next reconcile"
	case !same && w.Refuses && len(others) > 0:
		return NotWritten, fmt.Sprintf("%s has another value, and the patch refuses to take it", managers(others))
	case !same && len(others) > 0 && !own:
		return Differs, fmt.Sprintf("%s has taken it from Kanon, which sets it back to %s at the next reconcile", managers(others), shownValue(f.field.raw, f.hidden))
	case !same:
		return Differs, fmt.Sprintf("Kanon sets it to %s at the next reconcile", shownValue(f.field.raw, f.hidden))
	case own && len(others) > 0:
		return InSync, "Kanon keeps it; " + managers(others) + owning(others) + " too, with the same value"
	case own || len(f.owners) == 0:
		return InSync, "Kanon keeps it"
	default:
		return Differs, managers(others) + owning(others) + " with the same value: Kanon takes it back at the next reconcile"
	}
}

// setAtCreation explains why Kanon owns a default.
const setAtCreation = "no rule renders it: the API server set it when Kanon created the object"

func decideUnrendered(f facts) (State, string) {
	own := slices.IndexFunc(f.owners, func(o Owner) bool { return isKanon(o.Manager) })
	written := own >= 0 && f.writing != nil && f.writing.Manager == f.owners[own].Manager && f.writing.Problem == "" && f.writing.Kept == ""
	switch {
	case isMark(f.path) && own >= 0:
		return InSync, "Kanon writes it to know its children"
	case f.path.String() == "metadata.namespace" && f.writing != nil:
		return InSync, "the rule names no namespace, so it is that of the parent"
	case own >= 0 && len(f.path) > 2 && f.path[0].Name == "status" && f.path[1].Name == "conditions":
		return InSync, "Kanon reports it"
	case own >= 0 && f.writing != nil && f.writing.Problem != "" && f.writing.Manager == f.owners[own].Manager:
		return NotWritten, f.writing.Problem
	case written && f.owners[own].Operation == fieldset.OperationApply:
		return Withdrawn, "no rule renders it any more: Kanon removes it at the next reconcile"
	case written:
		return Unmanaged, setAtCreation
	case own >= 0 && f.writing == nil: // perhaps a rule in a file, or a deleted one
		return Unmanaged, "no rule that is known here writes it; " + whose(f.owners)
	default:
		return Unmanaged, "no rule writes it; " + whose(f.owners)
	}
}

// isKanon reports whether a field manager is one of Kanon's.
func isKanon(manager string) bool { return manager == "kanon" || strings.HasPrefix(manager, "kanon-") }

// isMark reports whether a field marks an object as a child of Kanon's.
func isMark(p Path) bool {
	if len(p) < 3 || p[0].Name != "metadata" {
		return false
	}
	return p[1].Name == "ownerReferences" || (p[1].Name == "labels" || p[1].Name == "annotations") && strings.HasPrefix(p[2].Name, "kanon.dev/")
}

// whose names the owners of a field.
func whose(owners []Owner) string {
	if len(owners) == 0 {
		return "no field manager owns it: the API server set it"
	}
	return managers(owners) + owning(owners)
}

func owning(owners []Owner) string {
	if strings.Contains(managers(owners), " and ") {
		return " own it"
	}
	return " owns it"
}

func managers(owners []Owner) string {
	var names []string
	for _, o := range owners {
		if !slices.Contains(names, o.Manager) {
			names = append(names, o.Manager)
		}
	}
	if len(names) > 1 {
		return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	}
	return strings.Join(names, "")
}

// ignored is the ignore path that covers a field; empty if there is none.
func ignored(p Path, paths []syntax.IgnorePath) string {
	for _, path := range paths {
		if leads(path, p) {
			return path.String()
		}
	}
	return ""
}

// leads reports whether a path of a rule leads to a field or to a field above it. A list item matches by its key.
func leads(path syntax.IgnorePath, p Path) bool {
	if len(p) < len(path) {
		return false
	}
	for i, step := range path {
		if step.Keys == nil {
			if p[i].Index >= 0 || p[i].Name != step.Field {
				return false
			}
			continue
		}
		if p[i].Index < 0 || !maps.Equal(step.Keys, p[i].Keys) {
			return false
		}
	}
	return true
}

// sameValue reports whether a rendered and a live value are equal. The API server may store a value in another form:
// quantities are compared by value, and all empty values are equal.
func sameValue(rendered, live any) bool {
	if equality.Semantic.DeepEqual(rendered, live) || isEmpty(rendered) && isEmpty(live) {
		return true
	}
	a, okA := quantityOf(rendered)
	b, okB := quantityOf(live)
	return okA && okB && a.Cmp(b) == 0
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	}
	return false
}

func quantityOf(v any) (resource.Quantity, bool) {
	switch v := v.(type) {
	case string, int64, float64:
		q, err := resource.ParseQuantity(fmt.Sprint(v))
		return q, err == nil
	}
	return resource.Quantity{}, false
}

// stored is the field of a Secret as the API server stores it: stringData becomes data, as base64.
func (f Field) stored() Field {
	if len(f.Path) < 2 || f.Path[0].Name != "stringData" {
		return f
	}
	f.Path = append(Path{named("data")}, f.Path[1:]...)
	if text, ok := f.raw.(string); ok {
		f.raw = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return f
}
