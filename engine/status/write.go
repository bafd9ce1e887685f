package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/statuswriter"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/kinds/restmapping"
	"kanon.dev/kanon/kinds/schemas"
	"kanon.dev/kanon/rules/program/parentstatus"
)

// yieldStatus leaves to other running rules what they set in the parent's status to other values.
func (s *Report) yieldStatus(ctx context.Context) (problems []conditions.Problem) {
	said, contested, err := s.Statuses.Yield(ctx, s.status(s.result.Status), s.isRival)
	if err != nil {
		return []conditions.Problem{s.problemOf(err)}
	}
	s.result.Status = said
	for _, c := range contested {
		problems = append(problems, conditions.Problem{
			Subject: strings.TrimPrefix(c.Path, "."), Reason: conditions.ReasonFieldTaken, Stalled: true,
			Err: fmt.Errorf("rule %s sets another value there", s.Running.NameOf(strings.TrimPrefix(c.Manager, plan.StatusManagers))),
		})
	}
	return problems
}

// isRival reports whether a field manager is that of another running rule. Fields of a rule that no longer runs may be
// taken over.
func (s *Report) isRival(manager string) bool {
	id, ok := strings.CutPrefix(manager, plan.StatusManagers)
	if !ok || id == s.Op.ID {
		return false
	}
	rival := s.Running.Get(id)
	return rival != nil && rival.Removal == nil
}

// isOther reports whether a field manager is somebody else's: any but those of rules that do not run.
func (s *Report) isOther(manager string) bool {
	return !strings.HasPrefix(manager, plan.StatusManagers) || s.isRival(manager)
}

// keepStatus writes the conditions, together with the last status of the rule: its new status was refused or is
// unknown.
func (s *Report) keepStatus(ctx context.Context, summary conditions.Summary) (problems []conditions.Problem) {
	own, err := s.Statuses.Owned(ctx, s.status(nil))
	if err == nil {
		err = s.writeStatus(ctx, own, summary)
	}
	if err != nil && !conditions.IsInvalid(err) {
		return []conditions.Problem{s.problemOf(err)}
	}
	return nil
}

// writeStatus applies the rule's status of the parent and the conditions, if they differ from what the parent has.
func (s *Report) writeStatus(ctx context.Context, said map[string]any, summary conditions.Summary) error {
	content := maps.Clone(said)
	shape, err := s.conditionsShape(ctx)
	if err != nil {
		return err
	}
	s.explainConditions(shape, content)
	if shape.ListMap {
		if content == nil {
			content = make(map[string]any, 1)
		}
		rendered, _ := content["conditions"].([]any) // those of the rule
		delete(content, "conditions")
		if list := s.conditions(rendered, summary, shape); len(list) > 0 { // an empty list cannot have an owner
			content["conditions"] = list
		}
	}
	if err := s.syncStatus(ctx, content); err != nil || !s.mergesConditions(shape, content) {
		return err
	}
	return s.mergeConditions(ctx, s.conditions(nil, summary, shape))
}

// syncStatus applies the content of the parent's status; nil removes everything that the rule ever wrote there.
func (s *Report) syncStatus(ctx context.Context, content map[string]any) error {
	defer s.Changes.Begin(s.Object)()
	live, written, err := s.Statuses.Sync(ctx, s.status(runtime.DeepCopyJSON(content)))
	if err != nil {
		return err
	}
	if written {
		s.Written = true
		s.Changes.Observe(s.Op.ParentKey, live)
		s.remember(ctx, live, content)
		if content != nil && !s.Op.InView(live) { // it no longer matches the selector
			s.Parents.SetUnselected(s.Key, true)
			s.Changes.RequeueAfter(0)
		}
		if s.Memory != nil {
			s.Memory.StatusLoop.Wrote(s.changed)
		}
	}
	return nil
}

// remember stores that the version live of the parent needs no reconcile: it differs from the one that was evaluated only
// by the status that was written. That must be in place, because a webhook may have changed it. The end of a parent that
// is being deleted may depend on its status.
func (s *Report) remember(ctx context.Context, live *unstructured.Unstructured, content map[string]any) {
	switch {
	case content == nil, s.Object.GetDeletionTimestamp() != nil, s.Object.GetResourceVersion() != s.Evaluated:
		return
	case !s.Op.IgnoresOwnStatus(), !s.Op.InView(live), !feedback.IsStatusWrite(s.Object, live, plan.IsStatusManager):
		return
	}
	after := s.status(content)
	after.Object = live
	if inPlace, err := s.Statuses.IsInPlace(ctx, after); err != nil || !inPlace {
		return
	}
	// The texts outlive this version of the parent.
	write := parents.StatusWrite{
		UID: types.UID(strings.Clone(string(live.GetUID()))), Before: strings.Clone(s.Evaluated), After: strings.Clone(live.GetResourceVersion()),
	}
	s.Parents.Update(s.Key, func(state *parents.State) { state.Reported = write })
}

// status returns a content of the parent's status for the writer.
func (s *Report) status(content map[string]any) statuswriter.Status {
	return statuswriter.Status{
		GVR:         s.Op.Parent.GVR,
		Object:      s.Object,
		Manager:     s.Op.StatusManager(),
		Content:     content,
		Subresource: s.Op.Parent.HasStatus,
		Exact:       s.Op.Program.ReadsStatus,
	}
}

// conditionsShape returns which conditions the parent's kind can have. A kind that no CustomResourceDefinition defines
// has none for us: the conditions of a Node or a Deployment belong to their controllers.
func (s *Report) conditionsShape(ctx context.Context) (schemas.ConditionsShape, error) {
	if s.isBuiltIn() {
		return schemas.ConditionsShape{}, nil
	}
	shape, err := s.Schemas.Conditions(ctx, s.Op.Parent.GVK)
	if err != nil {
		return schemas.ConditionsShape{}, fmt.Errorf("look up the schema of %s: %w", s.Op.Parent.GVK.Kind, err)
	}
	if _, err := s.Schemas.Converter(ctx, s.Op.Parent.GVK); errors.Is(err, schemas.ErrNoSchema) {
		// Every CustomResourceDefinition has a schema. A busy API server publishes it late, and no event reports it.
		s.Changes.RequeueAfter(schemas.MissingInterval)
	}
	return shape, nil
}

// isBuiltIn reports whether no CustomResourceDefinition defines the parent's kind. The mapper may know the definition
// before the operator does.
func (s *Report) isBuiltIn() bool {
	kind, _ := s.Mapper.Lookup(s.Op.Parent.GVK)
	return kind.Definition == (restmapping.Definition{})
}

// conditions returns the conditions to write: those of the rule, from spec.conditions or its status, unless another
// manager has them, and Kanon's, all of them or, if they are another's, none. Events report what is left out. rendered
// may contain such a condition too, because a list that waits is everything that the parent has.
func (s *Report) conditions(rendered []any, summary conditions.Summary, shape schemas.ConditionsShape) []any {
	prefix, now := s.Op.Program.ConditionPrefix, s.Now()
	isTheirs := func(item any) bool {
		return statuswriter.IsOwnedByAnother(s.Object, s.Op.StatusManager(), s.isOther, conditions.TypeOf(item))
	}
	own := slices.DeleteFunc(conditions.OfRule(s.result.Conditions, s.Object, now), isTheirs)
	if s.yields = s.yieldsConditions(shape); !s.yields {
		own = append(own, summary.Conditions(prefix, s.Object, now)...)
	}
	for _, item := range own {
		condition, _ := item.(map[string]any)
		if !s.Op.Parent.HasStatus {
			// Without a status subresource each write is a new generation, which would cause the next write.
			delete(condition, "observedGeneration")
		}
		maps.DeleteFunc(condition, func(field string, _ any) bool { return !shape.Fields.Has(field) })
	}
	rendered = slices.DeleteFunc(slices.Clone(rendered), func(item any) bool {
		return conditions.IsKanons(prefix, conditions.TypeOf(item)) || isTheirs(item) ||
			slices.ContainsFunc(s.result.Conditions, func(c parentstatus.Condition) bool { return c.Type == conditions.TypeOf(item) })
	})
	return append(rendered, own...)
}

// explainConditions explains, once for each revision of a rule, why conditions are not written that somebody may
// expect: the rule's own, or Kanon's on a kind whose schema has conditions.
func (s *Report) explainConditions(shape schemas.ConditionsShape, said map[string]any) {
	rule := s.rivalWithConditions(shape)
	written := shape.ListMap || s.mergesConditions(shape, said)
	if rule == "" && (written || len(s.result.Conditions) == 0 && !shape.HasConditions) || s.Op.Explained.Swap(true) {
		return
	}
	kind := s.Op.Parent.GVK.Kind
	why := "the schema of its status has no conditions"
	switch {
	case written:
		why = "rule " + rule + " has the same conditionPrefix, and its conditions are kept"
	case shape.HasConditions:
		why = "its conditions are not a list-map by type (x-kubernetes-list-type: map), and the rule's status sets the list as a whole"
	case s.isBuiltIn():
		why = "the conditions of a kind that is built into Kubernetes belong to its controllers"
	}
	conditions.Emit(s.Recorder, s.Op.Name, s.Object, corev1.EventTypeWarning, conditions.ReasonNoConditions,
		"rule %s does not write its conditions to objects of kind %s: %s; Events report problems", s.Op.Name, kind, why)
}
