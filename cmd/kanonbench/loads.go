package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
	"kanon.dev/kanon/cmd/kanonbench/internal/world"
)

// The measures of loads.
const (
	ownChildren  = 3
	wideChildren = 20
	manyKinds    = app.MaxKinds
	largeSize    = 1_000_000 // of the 1,048,576 bytes that a ConfigMap may have
)

// load is what the engines have to do.
type load struct {
	report.Load
	// watched is how many kinds of parents an engine is for.
	watched int
	// plan are the phases in which an engine is measured.
	plan func(*runner) []step
}

// extra is how many children there are beyond the three.
func (l load) extra() int { return max(0, l.Children-ownChildren) }

// converged is what should come true of a parent of a revision.
func (l load) converged(revision string) world.Goal {
	if l.Patch != "" {
		return world.Patched(revision)
	}
	return world.Converged(revision, l.extra())
}

// afterChange is the revision that comes true of a new parent after the change of all:
// its own, and that of the one parent where a new object is selected.
func (l load) afterChange() string {
	if l.Patch == string(app.PatchSelected) {
		return secondRevision
	}
	return firstRevision
}

// gone is what should come true of a parent that is deleted.
func (l load) gone() world.Goal {
	if l.Patch != "" {
		return world.Released()
	}
	return world.Gone()
}

// rules is the work as rules of Kanon.
func (l load) rules() (string, error) {
	if l.Patch != "" {
		return app.PatchRule(app.Patch(l.Patch))
	}
	return app.Rules(l.watched, l.extra() > 0, l.Size), nil
}

// suits tells whether an engine takes part: the bare loop takes nothing back, which is
// half of what a patch is about.
func (l load) suits(engine string) bool { return l.Patch == "" || engine != report.Loop }

// writesOfOne is how many writes of an engine a new parent takes. With a patch it is the
// patch; the operator by hand puts its finalizer on the parent besides.
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
		"own":      {Load: report.Load{Patch: string(app.PatchOwn)}, watched: 1, plan: (*runner).patches},
		"shared":   {Load: report.Load{Patch: string(app.PatchShared)}, watched: 1, plan: (*runner).patches},
		"selected": {Load: report.Load{Patch: string(app.PatchSelected)}, watched: 1, plan: (*runner).patches},
		"beside":   {Load: report.Load{Children: ownChildren}, watched: 2, plan: (*runner).beside},
	}
}

// parseLoad reads NAME=PARENTS.
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

// kindOf is the kind of a parent. Those that are numbered share the kinds out; the
// others are of the last one.
func (l load) kindOf(name string) app.Kind {
	n, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil {
		return app.Kind(l.watched - 1)
	}
	return app.Kind(n % max(1, l.Kinds))
}
