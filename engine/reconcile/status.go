package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/schemas"
)

// statusWriter reports on a parent: in its status, with what the rule renders there and the conditions, and by Events.
type statusWriter struct {
	*changes

	reader    *reader
	finalizer *parentFinalizer
	// retryMax bounds the pauses while conditions are in conflict, and waitLimit is how long a parent without conditions may
	// wait before an Event says so.
	retryMax, waitLimit time.Duration

	// changed are the leaves of the status that the rule renders otherwise than the parent has them; for a rule that reads its
	// own status.
	changed []string
	// yields is true if Kanon's conditions on the parent are left to another rule.
	yields bool
}

// found is what a reconcile has found before it reports.
type found struct {
	problems, pending []conditions.Problem
	// kept names the children that the rule no longer renders and that are not deleted for now.
	kept string
}

// report reports what a reconcile found, in the parent's status and as Events. It returns the problems of its own.
func (s *statusWriter) report(ctx context.Context, f found) []conditions.Problem {
	before := len(f.problems)
	f.problems = append(slices.Clip(f.problems), s.yieldStatus(ctx)...)
	f.problems = append(f.problems, s.checkStatusLoop(ctx)...)
	summary := s.summarize(f)
	if s.outcome.StatusHeld {
		f.problems = append(f.problems, s.keepStatus(ctx, summary)...)
	} else if err := s.writeStatus(ctx, s.outcome.Status, summary); err != nil {
		f.problems = append(f.problems, s.problemOf(err))
		summary = s.summarize(f)
		if conditions.IsInvalid(err) {
			f.problems = append(f.problems, s.keepStatus(ctx, summary)...)
		}
	}
	if !slices.ContainsFunc(f.problems, conditions.Problem.IsTransient) {
		s.emitOfRule() // else the next reconcile knows better, and comes soon
	}
	s.emitSummary(ctx, summary)
	return f.problems[before:]
}

// reportDeletion is report for a parent that is being deleted: what the rule rendered in its status stays.
func (s *statusWriter) reportDeletion(ctx context.Context, f found) []conditions.Problem {
	summary := s.summarize(f)
	problems := s.keepStatus(ctx, summary)
	s.emitSummary(ctx, summary)
	return problems
}

func (s *statusWriter) summarize(f found) conditions.Summary {
	return conditions.Summarize(slices.Concat(f.problems, f.pending), s.outcome, f.kept)
}

// yieldStatus leaves to other rules that run what they say in the parent's status with other values.
func (s *statusWriter) yieldStatus(ctx context.Context) (problems []conditions.Problem) {
	said, contested, err := s.Writer.Yield(ctx, s.status(s.outcome.Status), s.isRival)
	if err != nil {
		return []conditions.Problem{s.problemOf(err)}
	}
	s.outcome.Status = said
	for _, c := range contested {
		problems = append(problems, conditions.Problem{
			Subject: strings.TrimPrefix(c.Path, "."), Reason: conditions.ReasonFieldTaken, Stalled: true,
			Err: fmt.Errorf("rule %s sets another value there", s.running.NameOf(strings.TrimPrefix(c.Manager, plan.StatusManagers))),
		})
	}
	return problems
}

// isRival tells whether a field manager is that of another rule that runs. What a rule left behind that does not run any more may
// be taken.
func (s *statusWriter) isRival(manager string) bool {
	id, ok := strings.CutPrefix(manager, plan.StatusManagers)
	if !ok || id == s.op.ID {
		return false
	}
	rival := s.running.Get(id)
	return rival != nil && rival.Removal == nil
}

// isOther tells whether a field manager counts as another one's: not that of a rule that does not run.
func (s *statusWriter) isOther(manager string) bool {
	return !strings.HasPrefix(manager, plan.StatusManagers) || s.isRival(manager)
}

// problemOf is what it means for the parent that its status could not be written.
func (s *statusWriter) problemOf(err error) conditions.Problem {
	return s.redacted(conditions.OfWrite("status", err))
}

// keepStatus writes the state beside what the rule said of the status before: what it says now was refused, or is not known.
func (s *statusWriter) keepStatus(ctx context.Context, summary conditions.Summary) (problems []conditions.Problem) {
	own, err := s.Writer.HeldStatus(ctx, s.status(nil))
	if err == nil {
		err = s.writeStatus(ctx, own, summary)
	}
	if err != nil && !conditions.IsInvalid(err) {
		return []conditions.Problem{s.problemOf(err)}
	}
	return nil
}

// writeStatus applies what the rule says of the parent's status, and the conditions, where they differ from what is there.
func (s *statusWriter) writeStatus(ctx context.Context, said map[string]any, summary conditions.Summary) error {
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
		rendered, _ := content["conditions"].([]any) // the rule's
		delete(content, "conditions")
		if list := s.conditions(rendered, summary, shape); len(list) > 0 { // nobody can own an empty list
			content["conditions"] = list
		}
	}
	if err := s.syncStatus(ctx, content); err != nil || !s.mergesConditions(shape, content) {
		return err
	}
	return s.mergeConditions(ctx, s.conditions(nil, summary, shape))
}

// syncStatus brings the parent's status to a content; nil takes back all that the rule ever said in it.
func (s *statusWriter) syncStatus(ctx context.Context, content map[string]any) error {
	defer s.begin(s.parent)()
	result, err := s.Writer.SyncStatus(ctx, s.status(runtime.DeepCopyJSON(content)))
	if err != nil {
		return err
	}
	if result.Action != apply.ActionNone {
		s.finalizer.seen = true
		s.observe(s.op.ParentKey, result.Live)
		if content != nil && !s.op.InView(result.Live) { // it left meanwhile
			s.parents.SetLeft(s.key, true)
			s.requeueAfter(0)
		}
		if s.memory != nil {
			s.memory.StatusLoop.Wrote(s.changed)
		}
	}
	return nil
}

// status is a content of the parent's status, as the writer takes it.
func (s *statusWriter) status(content map[string]any) apply.Status {
	return apply.Status{
		GVR:         s.op.Parent.GVR,
		Object:      s.parent,
		Manager:     s.op.StatusManager(),
		Content:     content,
		Subresource: s.op.Parent.HasStatus,
		Exact:       s.op.Program.ReadsStatus(),
	}
}

// conditionsShape is what conditions the parent's kind can take. A kind that no CustomResourceDefinition defines takes none: what
// they say of a Node, or of a Deployment, is not ours to say.
func (s *statusWriter) conditionsShape(ctx context.Context) (schemas.ConditionsShape, error) {
	if s.isBuiltIn() {
		return schemas.ConditionsShape{}, nil
	}
	shape, err := s.Schemas.Conditions(ctx, s.op.Parent.GVK)
	if err != nil {
		return schemas.ConditionsShape{}, fmt.Errorf("look up the schema of %s: %w", s.op.Parent.GVK.Kind, err)
	}
	return shape, nil
}

// isBuiltIn tells whether no CustomResourceDefinition defines the parent's kind. The mapper knows the definition when the
// operator may not have yet.
func (s *statusWriter) isBuiltIn() bool {
	kind, _ := s.Mapper.Lookup(s.op.Parent.GVK)
	return kind.Definition == (restmapping.Definition{})
}

// conditions are those of the rule, in its conditions or its status, as far as no other manager has them, and those of the state:
// all of them or, where they are another's, none. Events speak for both. What the rule renders can hold such a condition too,
// because a list that waits is the whole of what the parent has.
func (s *statusWriter) conditions(rendered []any, summary conditions.Summary, shape schemas.ConditionsShape) []any {
	prefix, now := s.op.Program.ConditionPrefix(), s.Now()
	isTheirs := func(item any) bool {
		return apply.HeldByAnother(s.parent, s.op.StatusManager(), s.isOther, conditions.TypeOf(item))
	}
	own := slices.DeleteFunc(conditions.OfRule(s.outcome.Conditions, s.parent, now), isTheirs)
	if s.yields = s.yieldsConditions(shape); !s.yields {
		own = append(own, summary.Conditions(prefix, s.parent, now)...)
	}
	for _, item := range own {
		condition, _ := item.(map[string]any)
		if !s.op.Parent.HasStatus {
			// Each write is a new generation there, which would ask for the next.
			delete(condition, "observedGeneration")
		}
		maps.DeleteFunc(condition, func(field string, _ any) bool { return !shape.Fields.Has(field) })
	}
	rendered = slices.DeleteFunc(slices.Clone(rendered), func(item any) bool {
		return conditions.IsKanons(prefix, conditions.TypeOf(item)) || isTheirs(item) ||
			slices.ContainsFunc(s.outcome.Conditions, func(c rules.Condition) bool { return c.Type == conditions.TypeOf(item) })
	})
	return append(rendered, own...)
}

// explainConditions says once for each revision of a rule why conditions are not written that somebody may wait for: the rule's
// own, or Kanon's on a kind whose schema has conditions.
func (s *statusWriter) explainConditions(shape schemas.ConditionsShape, said map[string]any) {
	rule := s.rivalWithConditions(shape)
	written := shape.ListMap || s.mergesConditions(shape, said)
	if rule == "" && (written || len(s.outcome.Conditions) == 0 && !shape.HasConditions) || s.op.Explained.Swap(true) {
		return
	}
	kind := s.op.Parent.GVK.Kind
	why := "the schema of its status has no conditions"
	switch {
	case written:
		why = "rule " + rule + " has the same conditionPrefix, and its conditions are kept"
	case shape.HasConditions:
		why = "its conditions are not a list-map by type (x-kubernetes-list-type: map), and the rule's status sets the list as a whole"
	case s.isBuiltIn():
		why = "the conditions of a kind that is built into Kubernetes belong to its controllers"
	}
	s.Recorder.Eventf(s.parent, corev1.EventTypeWarning, conditions.ReasonNoConditions,
		"rule %s does not write its conditions to objects of kind %s: %s; Events report problems", s.op.Name, kind, why)
}
