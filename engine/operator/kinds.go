package operator

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules/program"
)

// MissingKindError reports that the cluster does not have a kind.
type MissingKindError struct{ GVK schema.GroupVersionKind }

func (e *MissingKindError) Error() string {
	return fmt.Sprintf("the cluster has no kind %s in %s", e.GVK.Kind, e.GVK.GroupVersion())
}

// kinds has, for each kind that a program names, where its objects are or why its nodes have to wait. If a newer kinds
// of the same program is not equal, the program must be planned again.
type kinds struct {
	// of is the kind of the parents, and uses is what the nodes need of their kinds.
	of   schema.GroupVersionKind
	uses map[schema.GroupVersionKind]kindUse
	// parent is zero if the kind of the parents is missing.
	parent  restmapping.Kind
	found   map[schema.GroupVersionKind]restmapping.Kind
	missing map[schema.GroupVersionKind]program.Absence
}

// kindsOf looks up the kinds of a program.
func kindsOf(program *program.Program, mapper *restmapping.Mapper) kinds {
	return kinds{of: program.Parent.GVK, uses: usesOf(program)}.again(mapper)
}

// again looks up the same kinds once more.
func (p kinds) again(mapper *restmapping.Mapper) kinds {
	plan := kinds{
		of: p.of, uses: p.uses,
		found:   make(map[schema.GroupVersionKind]restmapping.Kind),
		missing: make(map[schema.GroupVersionKind]program.Absence),
	}
	plan.parent, _ = mapper.Lookup(p.of)
	for gvk, use := range p.uses {
		kind, ok := mapper.Lookup(gvk)
		switch {
		case !ok:
			plan.missing[gvk] = absenceOf(mapper.Missing(gvk), gvk)
		case use.unresolved:
			// The kind came after the program was compiled. The catalog compiles the program again.
			plan.missing[gvk] = program.Absence{Message: fmt.Sprintf("the cluster has kind %s in %s now, and the rule has to be checked with it first", gvk.Kind, gvk.GroupVersion())}
		case kind.Definition.UID != "" && !kind.Verbs.HasAll(use.verbs.UnsortedList()...):
			plan.missing[gvk] = program.Absence{Message: fmt.Sprintf("kind %s in %s is being deleted", gvk.Kind, gvk.GroupVersion())}
		default:
			plan.found[gvk] = kind
		}
	}
	return plan
}

// kindUse is what a program needs of a kind.
type kindUse struct {
	// verbs are the verbs that the kind must support. A kind whose definition is being deleted lacks some.
	verbs sets.Set[string]
	// unresolved is true if the program was compiled without the kind.
	unresolved bool
}

// usesOf returns the kinds that the nodes of a program name.
func usesOf(p *program.Program) map[schema.GroupVersionKind]kindUse {
	uses := make(map[schema.GroupVersionKind]kindUse)
	add := func(gvk schema.GroupVersionKind, unresolved bool, verbs ...string) {
		use := uses[gvk]
		use.unresolved = use.unresolved || unresolved
		use.verbs = use.verbs.Union(sets.New(verbs...))
		uses[gvk] = use
	}
	for _, child := range p.Children {
		add(child.GVK, child.Unresolved, "create", "patch")
	}
	for _, lookup := range p.Lookups {
		add(lookup.GVK, lookup.Unresolved)
	}
	for _, patch := range p.Patches {
		if patch.Target != nil {
			add(patch.GVK, patch.Target.Unresolved, "patch")
		}
	}
	return uses
}

// absenceOf returns what a mapper's error means for the nodes of a kind. A kind that is served in another version has
// objects, so it is not certainly missing.
func absenceOf(err error, gvk schema.GroupVersionKind) program.Absence {
	unknown, ok := errors.AsType[*restmapping.UnknownKindError](err)
	if !ok {
		return program.Absence{Message: fmt.Sprintf("it is not known now whether the cluster has kind %s in %s", gvk.Kind, gvk.GroupVersion())}
	}
	absence := program.Absence{Certain: len(unknown.Served) == 0, Message: (&MissingKindError{GVK: gvk}).Error()}
	if !absence.Certain {
		absence.Message += ", but in version " + strings.Join(unknown.Served, " and ")
	}
	return absence
}

// equal reports whether a program that was planned with p need not be planned again.
func (p kinds) equal(now kinds) bool {
	if len(p.found) != len(now.found) || !maps.Equal(p.missing, now.missing) || !sameDefinition(p.parent, now.parent) {
		return false
	}
	for gvk, kind := range p.found {
		if other, ok := now.found[gvk]; !ok || !sameDefinition(kind, other) {
			return false
		}
	}
	return true
}

// sameDefinition reports whether a kind still has its resource, and its definition was not recreated.
func sameDefinition(a, b restmapping.Kind) bool {
	return a.GVR == b.GVR && a.Definition.UID == b.Definition.UID
}

// Missing returns the kinds of the rule's nodes that the cluster does not have, and why.
func (p *Plan) Missing() map[schema.GroupVersionKind]program.Absence { return p.kinds.missing }
