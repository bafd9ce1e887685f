package conform

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/ignore"
)

// ignoreCheck compares a path of ignore with the schema of its kind.
type ignoreCheck struct {
	path     ignore.Parsed
	reportAt func(offset int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding
}

// ignored follows a path of ignore in the schema of its kind, as far as the schema is known. reportAt reports a finding
// at an offset in the path.
func ignored(path ignore.Parsed, kind string, s *openapi.Schema, reportAt func(offset int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding) {
	k := &ignoreCheck{path: path, reportAt: reportAt}
	at := &fieldPath{name: kind}
	var list *openapi.Schema // the list whose items have the schema s
	for i, step := range k.path.Steps {
		if s == nil || s.Type == openapi.Any {
			return
		}
		if step.Keys != nil {
			if !k.items(i, s, at) {
				return
			}
			s, list, at = s.Items, s, at.to(ignore.Path{step}.String(), s)
			continue
		}
		if list != nil && slices.Contains(list.Keys, step.Field) && i == len(k.path.Steps)-1 {
			k.report(i, diagnostic.CodeIgnorePart, "%s identifies the items of %s and cannot be ignored", step.Field, at.up.inKind())
			return
		}
		list = nil
		switch s.Type {
		case openapi.Map, openapi.Object:
			below, ok := s.At(step.Field)
			if !ok {
				k.report(i, diagnostic.CodeIgnoreUnknown, "%s has no field %s", at.kind(), at.to(step.Field, s).inKind()).Suggest(step.Field, check.FieldNames(s)).WithHint("%s", fieldHint(step.Field, s))
				return
			}
			s, at = below, at.to(step.Field, s)
		case openapi.List:
			k.report(i, diagnostic.CodeIgnorePart, "%s is a list", at.inKind()).WithHint("%s", itemsHint(s, at))
			return
		default:
			k.report(i, diagnostic.CodeIgnorePart, "%s is one value, with no fields in it", at.inKind())
			return
		}
	}
}

// items checks a step that names items of a list, and reports whether it can.
func (k *ignoreCheck) items(i int, s *openapi.Schema, at *fieldPath) bool {
	if s.Type != openapi.List {
		k.report(i, diagnostic.CodeIgnorePart, "%s is not a list", at.inKind()).WithHint("write [key] for the key of a map")
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(k.path.Steps[i].Keys)) {
		if !slices.Contains(s.Keys, name) {
			k.report(i, diagnostic.CodeIgnorePart, "the items of %s are not identified by %s", at.inKind(), name).WithHint("%s", itemsHint(s, at))
			return false
		}
	}
	return true
}

// itemsHint says how to name items of a list.
func itemsHint(s *openapi.Schema, at *fieldPath) string {
	if len(s.Keys) == 0 {
		return fmt.Sprintf("the API server treats the list as one value; ignore %s as a whole", at.inKind())
	}
	return fmt.Sprintf("name an item, as in %s[%s=…]", at.inKind(), strings.Join(s.Keys, "=…,"))
}

func (k *ignoreCheck) report(i int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return k.reportAt(k.path.At[i], code, format, args...)
}
