package engine

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
)

// kinds gives the rule compiler what the mapper knows, and adds what only the
// engine asks of a kind.
type kinds struct{ mapper *restmapping.Mapper }

// Lookup implements rules.Kinds.
func (k kinds) Lookup(gvk schema.GroupVersionKind) (rules.Kind, bool) {
	kind, ok := k.mapper.Lookup(gvk)
	return rules.Kind{Namespaced: kind.Namespaced, HasStatus: kind.HasStatus}, ok
}

// unusable finds the kinds of a program whose API lacks a verb that the engine
// needs. parent is where the finding about the parent's kind goes.
func (k kinds) unusable(p *rules.Program, parent rules.Position) rules.Findings {
	findings := k.lacks(p.Parent().GVK, parent, "get", "list", "watch")
	for _, child := range p.Children() {
		findings = append(findings, k.lacks(child.GVK, child.Position, "get", "list", "watch", "create", "patch", "delete")...)
	}
	return findings
}

func (k kinds) lacks(gvk schema.GroupVersionKind, pos rules.Position, verbs ...string) rules.Findings {
	kind, ok := k.mapper.Lookup(gvk)
	if !ok {
		return nil // the compiler said so
	}
	var findings rules.Findings
	for _, verb := range verbs {
		if !kind.Verbs.Has(verb) {
			findings = append(findings, rules.Finding{
				Position: pos, Severity: rules.SeverityError,
				Message: fmt.Sprintf("kind %s in %s cannot be used here: its API has no %s", gvk.Kind, gvk.GroupVersion(), verb),
			})
		}
	}
	return findings
}

// missingKindError says that the cluster has no such kind.
type missingKindError struct{ gvk schema.GroupVersionKind }

func (e *missingKindError) Error() string {
	return fmt.Sprintf("the cluster has no kind %s in %s", e.gvk.Kind, e.gvk.GroupVersion())
}
