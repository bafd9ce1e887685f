package engine

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/schemas"
)

// places tells whether the rule's and Kanon's conditions are put, item by item, into
// a list that the API server takes for one value: an apply would erase those of
// others. A rule whose status renders the list has it to itself.
func (p *pass) places(shape schemas.ConditionsShape, said map[string]any) bool {
	_, rendered := said["conditions"]
	return shape.HasConditions && !shape.ListMap && !rendered
}

// placing is what is remembered of conditions that were put into such a list.
type placing struct {
	// foreign are the types that others had before the rule's first word, and said what
	// each of the rule's last said.
	foreign map[string]bool
	said    map[string]string
}

// placeConditions puts the conditions of a pass into the parent's list, and takes out
// those of Kanon's that hold no more. Those of others stay as they are.
func (p *pass) placeConditions(ctx context.Context, own []any) error {
	parent, ok := p.monitors.Get(p.op.parentKey, p.parent.GetNamespace(), p.parent.GetName())
	if !ok || parent.GetUID() != p.parent.GetUID() {
		parent = p.parent // out of view
	}
	s := p.status(nil)
	s.Object = parent
	before, _, _ := unstructured.NestedSlice(parent.Object, "status", "conditions")
	after, lost := p.placed(s, before, own)
	if len(before) == len(after) && reflect.DeepEqual(before, after) {
		return nil
	}
	id := identity.Of(parent)
	if held := p.memory.contests.hold(id, "", lost, p.started, p.options.RetryMax); held != nil {
		_, rest := p.memory.contests.open(id, "", p.started)
		p.requeueAfter(rest + time.Millisecond)
		return &contestedError{object: apply.RefOf(parent), fields: held, nameOf: p.managerName}
	}
	defer p.begin(parent)()
	result, err := p.writer.PlaceConditions(ctx, s, after)
	if err != nil {
		return err
	}
	p.memory.contests.wrote(id, "", lost, p.started)
	p.observe(p.op.parentKey, result.Live)
	return nil
}

// placed is a list of conditions with those of the pass, in the order of the list. lost
// are those that somebody changed though the rule goes on to say the same.
func (p *pass) placed(s apply.Status, before, own []any) (after []any, lost []apply.Contested) {
	next := make(map[string]any, len(own))
	for _, item := range own {
		next[typeOf(item)] = item
	}
	mine, memory := p.ownConditions(s, before, own), &p.memory.placing
	after = make([]any, 0, len(before)+len(own))
	for _, item := range before {
		name := typeOf(item)
		said, has := next[name]
		delete(next, name)
		switch {
		case !mine(item):
			after = append(after, item)
		case has:
			after = append(after, said)
			if memory.said[name] == wordsOf(said) && wordsOf(item) != wordsOf(said) {
				lost = append(lost, apply.Contested{Path: "status.conditions[type=" + name + "]"})
			}
		}
	}
	for _, item := range own {
		if _, left := next[typeOf(item)]; left {
			after = append(after, item)
		}
	}
	memory.said = make(map[string]string, len(own))
	for _, item := range own {
		memory.said[typeOf(item)] = wordsOf(item)
	}
	return after, lost
}

// sameFields tells whether two conditions are of one type and have the same fields.
func sameFields(a, b any) bool {
	left, _ := a.(map[string]any)
	right, _ := b.(map[string]any)
	return typeOf(a) == typeOf(b) && maps.EqualFunc(left, right, func(any, any) bool { return true })
}

// isDated tells whether a condition has the fields that each of a rule's has, whatever the
// rule says; where it says nothing any more, there is no more to go by.
func isDated(condition any) bool {
	fields, _ := condition.(map[string]any)
	return fields["lastTransitionTime"] != nil && fields["observedGeneration"] != nil
}

// wordsOf is what a condition says.
func wordsOf(condition any) string {
	fields, _ := condition.(map[string]any)
	return fmt.Sprint(fields["status"], fields["reason"], fields["message"])
}

// ownConditions tells which items of a list are the rule's, or Kanon's for it. The API
// server does not record whose an item is. What others had before the rule's first
// word is theirs; after a restart, where that word is there, it speaks for all of its
// types that have the fields which the rule writes, or did before it was removed.
func (p *pass) ownConditions(s apply.Status, before, own []any) func(item any) bool {
	prefix, memory := p.op.program.ConditionPrefix(), &p.memory.placing
	heads := func(item any) bool {
		fields, _ := item.(map[string]any)
		reason, _ := fields["reason"].(string)
		return isKanons(prefix, typeOf(item)) && isReason(reason)
	}
	if memory.foreign == nil {
		memory.foreign = make(map[string]bool)
		known := apply.HoldsConditions(s) || slices.ContainsFunc(before, heads)
		for _, item := range before {
			like := known && (len(own) == 0 && isDated(item) || slices.ContainsFunc(own, func(other any) bool { return sameFields(item, other) }))
			memory.foreign[typeOf(item)] = !heads(item) && (!like || isKanons(prefix, typeOf(item)))
		}
	}
	types := p.op.program.ConditionTypes()
	yields := p.rivalWithConditions(schemas.ConditionsShape{HasConditions: true}) != ""
	return func(item any) bool {
		name := typeOf(item)
		return !memory.foreign[name] && (!yields && isKanons(prefix, name) || slices.Contains(types, name))
	}
}

// withoutOwn is a status without the conditions of the types that the rule and Kanon
// for it have.
func (p *pass) withoutOwn(status map[string]any) map[string]any {
	list, ok := status["conditions"].([]any)
	if !ok {
		return status
	}
	prefix, types := p.op.program.ConditionPrefix(), p.op.program.ConditionTypes()
	others := slices.DeleteFunc(slices.Clone(list), func(item any) bool {
		return isKanons(prefix, typeOf(item)) || slices.Contains(types, typeOf(item))
	})
	status = maps.Clone(status)
	if status["conditions"] = others; len(others) == 0 {
		delete(status, "conditions")
	}
	return status
}

// releaseStatus takes back all that the rule ever said in the parent's status.
func (p *pass) releaseStatus(ctx context.Context) error {
	if err := p.syncStatus(ctx, nil); err != nil {
		return err
	}
	if shape, err := p.conditionsShape(ctx); err != nil || !p.places(shape, nil) {
		return err
	}
	return p.placeConditions(ctx, nil)
}
