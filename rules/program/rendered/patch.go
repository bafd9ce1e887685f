package rendered

import (
	"fmt"

	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
)

// CheckPatch refuses fields of a patch that identify the object or its owner.
func CheckPatch(fields map[string]any) *template.Problem {
	for _, name := range []string{"apiVersion", "kind"} {
		if _, there := fields[name]; there {
			return template.Failure("a patch cannot set it").Under(name)
		}
	}
	metadata, there := fields["metadata"]
	if !there {
		return nil
	}
	inner, ok := metadata.(map[string]any)
	if !ok {
		return template.Failure("must be a map").Under("metadata")
	}
	for _, name := range append([]string{"name", "namespace", "generateName"}, syntax.ServerFields()...) {
		if _, there := inner[name]; there {
			return template.Failure("a patch cannot set it").Under("metadata." + name)
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		keys, _ := inner[field].(map[string]any)
		for name := range keys {
			if syntax.IsOwnMark(name) {
				return template.Failure("a patch cannot set it: it is Kanon's own").Under(fmt.Sprintf("metadata.%s[%s]", field, name))
			}
		}
	}
	return nil
}
