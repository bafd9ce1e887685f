package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
	"kanon.dev/kanon/cmd/kanonbench/internal/plane"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// The dimensions of loads.
const (
	ownChildren  = 3
	wideChildren = 20
	manyKinds    = app.MaxKinds
	largeSize    = 1_000_000 // a ConfigMap can have 1,048,576 bytes
)

// load is the work of the engines.
type load struct {
	report.Load
	// watched is the number of parent kinds that an engine handles.
	watched int
	// plan makes the phases in which an engine is measured.
	plan func(*runner) []step
}

// extra is the number of children beyond the three.
func (l load) extra() int { return max(0, l.Children-ownChildren) }

// converged is the goal for a parent at a revision.
func (l load) converged(revision string) plane.Goal {
	if l.Patch != "" {
		return plane.Patched(revision)
	}
	return plane.Converged(revision, l.extra())
}

// afterChange is the revision to which a new parent converges after the change of all parents: its own. In the load of
// one selecting parent, it is that parent's revision.
func (l load) afterChange() string {
	if l.Patch == string(app.PatchSelected) {
		return secondRevision
	}
	return firstRevision
}

// gone is the goal for a deleted parent.
func (l load) gone() plane.Goal {
	if l.Patch != "" {
		return plane.Released()
	}
	return plane.Gone()
}

// rules is the work as rules of Kanon.
func (l load) rules() (string, error) {
	if l.Patch != "" {
		return app.PatchRule(app.Patch(l.Patch))
	}
	return app.Rules(l.watched, l.extra() > 0, l.Size), nil
}

// writesOfOne is the number of an engine's writes for a new parent. With a patch it is the patch itself, and for the
// handwritten operator also its finalizer on the parent.
func (l load) writesOfOne(engine string) int {
	switch {
	case l.Patch == "":
		return l.Children + 1
	case engine == report.Operator && l.Patch != string(app.PatchSelected):
		return 2
	default:
		return 1
	}
}

// plans are the loads by name.
func plans() map[string]load {
	return map[string]load{
		"plain":    {Load: report.Load{Children: ownChildren}, watched: 1, plan: (*runner).all},
		"wide":     {Load: report.Load{Children: wideChildren}, watched: 1, plan: (*runner).all},
		"kinds":    {Load: report.Load{Children: ownChildren, Kinds: manyKinds}, watched: manyKinds, plan: (*runner).all},
		"large":    {Load: report.Load{Children: ownChildren, Size: largeSize}, watched: 1, plan: (*runner).memory},
		"own":      {Load: report.Load{Patch: string(app.PatchOwn)}, watched: 1, plan: (*runner).all},
		"shared":   {Load: report.Load{Patch: string(app.PatchShared)}, watched: 1, plan: (*runner).all},
		"selected": {Load: report.Load{Patch: string(app.PatchSelected)}, watched: 1, plan: (*runner).all},
		"beside":   {Load: report.Load{Children: ownChildren}, watched: 2, plan: (*runner).beside},
	}
}

// parseLoad parses NAME=PARENTS.
func parseLoad(text string) (load, error) {
	name, number, _ := strings.Cut(text, "=")
	l, known := plans()[name]
	if !known {
		names := slices.Sorted(maps.Keys(plans()))
		return l, fmt.Errorf("%q is not one of %s, with =PARENTS", text, strings.Join(names, ", "))
	}
	var err error
	if l.Parents, err = strconv.Atoi(number); err != nil || l.Parents < max(2, l.Kinds) {
		return l, fmt.Errorf("%q must have %d parents at the least", text, max(2, l.Kinds))
	}
	return l, nil
}

// kindOf is the kind of a parent. Numbered parents are distributed over the kinds; all others have the last kind.
func (l load) kindOf(name string) app.Kind {
	n, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil {
		return app.Kind(l.watched - 1)
	}
	return app.Kind(n % max(1, l.Kinds))
}
