package reconcile

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

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/program"
)

// yieldStatus leaves to other running rules what they set in the parent's status to other values.
func (s *report) yieldStatus(ctx context.Context) (problems []conditions.Problem) {
	said, contested, err := s.p.r.Statuses.Yield(ctx, s.status(s.result.Status), s.isRival)
	if err != nil {
		return []conditions.Problem{s.problemOf(err)}
	}
	s.result.Status = said
	for _, c := range contested {
		problems = append(problems, conditions.Problem{
			Subject: strings.TrimPrefix(c.Path, "."), Reason: conditions.ReasonFieldTaken, Stalled: true,
			Err: fmt.Errorf("rule %s sets another value there", s.p.r.Running.NameOf(strings.TrimPrefix(c.Manager, operator.StatusManagers))),
		})
	}
	return problems
}

// isRival reports whether a field manager is that of another running rule. Fields of a rule that no longer runs may be
// taken over.
func (s *report) isRival(manager string) bool {
	id, ok := strings.CutPrefix(manager, operator.StatusManagers)
	if !ok || id == s.p.op.ID {
		return false
	}
	rival := s.p.r.Running.Get(id)
	return rival != nil && rival.Removal == nil
}

// isOther reports whether a field manager is somebody else's: any but those of rules that do not run.
func (s *report) isOther(manager string) bool {
	return !strings.HasPrefix(manager, operator.StatusManagers) || s.isRival(manager)
}

// keepStatus writes the conditions, together with the last status of the rule: its new status was refused or is
// unknown.
func (s *report) keepStatus(ctx context.Context, summary conditions.Summary) (problems []conditions.Problem) {
	own, err := s.p.r.Statuses.Owned(ctx, s.status(nil))
	if err == nil {
		err = s.writeStatus(ctx, own, summary)
	}
	if err != nil && !conditions.IsInvalid(err) {
		return []conditions.Problem{s.problemOf(err)}
	}
	return nil
}

// writeStatus applies the rule's status of the parent and the conditions, if they differ from what the parent has.
func (s *report) writeStatus(ctx context.Context, said map[string]any, summary conditions.Summary) error {
	content := maps.Clone(said)
	shape, err := s.conditionsShape(ctx)
	if err != nil {
		return err
	}
	s.explainConditions(shape, content)
	if content == nil && (shape.ListMap || shape.HasGeneration) {
		content = make(map[string]any, 2)
	}
	if shape.HasGeneration && s.setsGeneration(shape) {
		content["observedGeneration"] = s.p.parent.GetGeneration()
	}
	if shape.ListMap {
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

// setsGeneration reports whether Kanon sets status.observedGeneration, to which kstatus and other tools compare
// metadata.generation. The rule to which the conditions without a prefix belong sets it, unless a rule for the kind or
// another manager does. Without a status subresource, each write would be a new generation.
func (s *report) setsGeneration(shape openapi.ConditionsShape) bool {
	if !s.p.op.Parent.HasStatus || s.p.op.Program.ConditionPrefix != "" || s.yieldsConditions(shape) {
		return false
	}
	kind := s.p.op.Parent.GVK.GroupKind()
	for _, op := range s.p.r.Running.Load().ByID {
		if template := op.Program.Status; template != nil && op.Parent.GVK.GroupKind() == kind && program.MaySet(template, "observedGeneration") {
			return false
		}
	}
	return !apply.IsGenerationOwnedByAnother(s.p.parent, s.p.op.StatusManager(), s.isOther)
}

// syncStatus applies the content of the parent's status; nil removes everything that the rule ever wrote there.
func (s *report) syncStatus(ctx context.Context, content map[string]any) error {
	defer s.p.beginWrite(s.p.parent)()
	live, written, err := s.p.r.Statuses.Sync(ctx, s.status(runtime.DeepCopyJSON(content)))
	if err != nil {
		return err
	}
	if written {
		s.p.parentSeen = true
		s.p.observe(s.p.op.ParentKey, live)
		s.remember(ctx, live, content)
		if content != nil && !s.p.op.InView(live) { // it no longer matches the selector
			s.p.r.Parents.SetUnselected(s.p.key, true)
			s.p.requeueAfter(0)
		}
	}
	return nil
}

// remember stores that the version live of the parent needs no reconcile: it differs from the one that was evaluated only
// by the status that was written. That must be in place, because a webhook may have changed it. The end of a parent that
// is being deleted may depend on its status.
func (s *report) remember(ctx context.Context, live *unstructured.Unstructured, content map[string]any) {
	switch {
	case content == nil, s.p.parent.GetDeletionTimestamp() != nil, s.p.parent.GetResourceVersion() != s.p.evaluated:
		return
	case !s.p.op.IgnoresOwnStatus(), !s.p.op.InView(live), !feedback.IsStatusWrite(s.p.parent, live, operator.IsStatusManager):
		return
	}
	after := s.status(content)
	after.Object = live
	if inPlace, err := s.p.r.Statuses.IsInPlace(ctx, after); err != nil || !inPlace {
		return
	}
	// The texts outlive this version of the parent.
	write := conditions.StatusWrite{
		UID: types.UID(strings.Clone(string(live.GetUID()))), Before: strings.Clone(s.p.evaluated), After: strings.Clone(live.GetResourceVersion()),
	}
	s.p.r.Parents.Update(s.p.key, func(state *conditions.State) { state.Reported = write })
}

// status returns a content of the parent's status for the writer.
func (s *report) status(content map[string]any) apply.Status {
	return apply.Status{
		GVR:         s.p.op.Parent.GVR,
		Object:      s.p.parent,
		Manager:     s.p.op.StatusManager(),
		Content:     content,
		Subresource: s.p.op.Parent.HasStatus,
		Exact:       s.p.op.Program.ReadsStatus,
	}
}

// conditionsShape returns which conditions the parent's kind can have. A kind that no CustomResourceDefinition defines
// has none for us: the conditions of a Node or a Deployment belong to their controllers.
func (s *report) conditionsShape(ctx context.Context) (openapi.ConditionsShape, error) {
	if s.isBuiltIn() {
		return openapi.ConditionsShape{}, nil
	}
	shape, err := s.p.r.Schemas.Conditions(ctx, s.p.op.Parent.GVK)
	if err != nil {
		return openapi.ConditionsShape{}, fmt.Errorf("look up the schema of %s: %w", s.p.op.Parent.GVK.Kind, err)
	}
	if _, err := s.p.r.Schemas.Converter(ctx, s.p.op.Parent.GVK); errors.Is(err, openapi.ErrNoSchema) {
		// Every CustomResourceDefinition has a schema. A busy API server publishes it late, and no event reports it.
		s.p.requeueAfter(openapi.MissingInterval)
	}
	return shape, nil
}

// isBuiltIn reports whether no CustomResourceDefinition defines the parent's kind. The mapper may know the definition
// before the operator does.
func (s *report) isBuiltIn() bool {
	kind, _ := s.p.r.Mapper.Lookup(s.p.op.Parent.GVK)
	return kind.Definition == (restmapping.Definition{})
}

// conditions returns the conditions to write: those of the rule, from spec.conditions or its status, unless another
// manager has them, and Kanon's, all of them or, if they are another's, none. Events report what is left out. rendered
// may contain such a condition too, because a list that waits is everything that the parent has.
func (s *report) conditions(rendered []any, summary conditions.Summary, shape openapi.ConditionsShape) []any {
	prefix, now := s.p.op.Program.ConditionPrefix, s.p.r.Now()
	isTheirs := func(item any) bool {
		return apply.IsOwnedByAnother(s.p.parent, s.p.op.StatusManager(), s.isOther, conditions.TypeOf(item))
	}
	own := slices.DeleteFunc(conditions.OfRule(s.result.Conditions, s.p.parent, now), isTheirs)
	if s.yields = s.yieldsConditions(shape); !s.yields {
		own = append(own, summary.Conditions(prefix, s.p.parent, now)...)
	}
	for _, item := range own {
		condition, _ := item.(map[string]any)
		if !s.p.op.Parent.HasStatus {
			// Without a status subresource each write is a new generation, which would cause the next write.
			delete(condition, "observedGeneration")
		}
		maps.DeleteFunc(condition, func(field string, _ any) bool { return !shape.Has(field) })
	}
	rendered = slices.DeleteFunc(slices.Clone(rendered), func(item any) bool {
		return conditions.IsKanons(prefix, conditions.TypeOf(item)) || isTheirs(item) ||
			slices.ContainsFunc(s.result.Conditions, func(c program.Condition) bool { return c.Type == conditions.TypeOf(item) })
	})
	return append(rendered, own...)
}

// explainConditions explains, once for each revision of a rule, why conditions are not written that somebody may
// expect: the rule's own, or Kanon's on a kind whose schema has conditions.
func (s *report) explainConditions(shape openapi.ConditionsShape, said map[string]any) {
	rule := s.rivalWithConditions(shape)
	written := shape.ListMap || s.mergesConditions(shape, said)
	if rule == "" && (written || len(s.result.Conditions) == 0 && !shape.HasConditions) || s.p.op.Explained.Swap(true) {
		return
	}
	kind := s.p.op.Parent.GVK.Kind
	why := "the schema of its status has no conditions"
	switch {
	case written:
		why = "rule " + rule + " has the same conditionPrefix, and its conditions are kept"
	case shape.HasConditions:
		why = "its conditions are not a list-map by type (x-kubernetes-list-type: map), and the rule's status sets the list as a whole"
	case s.isBuiltIn():
		why = "the conditions of a kind that is built into Kubernetes belong to its controllers"
	}
	conditions.Emit(s.p.r.Recorder, s.p.op.Name, s.p.parent, corev1.EventTypeWarning, conditions.ReasonNoConditions,
		"rule %s does not write its conditions to objects of kind %s: %s; Events report problems", s.p.op.Name, kind, why)
}
