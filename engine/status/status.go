package status

import (
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"

	"kanon.dev/kanon/engine/apply/statuswriter"
	"kanon.dev/kanon/engine/authorization"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/kinds/restmapping"
	"kanon.dev/kanon/kinds/schemas"
	"kanon.dev/kanon/rules/program"
)

// Changes is how a reconcile writes its parent.
type Changes interface {
	// Begin reports that an object is being written, until end is called. Observe reports the answer.
	Begin(obj *unstructured.Unstructured) (end func())
	Observe(informer monitor.Key, obj *unstructured.Unstructured)
	// RequeueAfter asks for another reconcile of the parent after d at the latest.
	RequeueAfter(d time.Duration)
}

// Options are the dependencies and limits of reports.
type Options struct {
	Mapper   *restmapping.Mapper
	Schemas  *schemas.Schemas
	Monitors *monitor.Monitors
	Statuses *statuswriter.Writer
	Recorder record.EventRecorder
	// Client creates the answers to requests.
	Client  dynamic.Interface
	Running *operator.Running
	Parents *parents.Store
	// Reads checks whether a rule with a ServiceAccount may emit Events.
	Reads *authorization.Reads
	// Now returns the time that rules see.
	Now func() time.Time
	// RetryMax bounds the pauses while fields or conditions are in conflict. WaitLimit is how long a parent without
	// conditions, or the deletion of a parent, may wait before an Event reports it.
	RetryMax, WaitLimit time.Duration
}

// Parent is the parent of a reconcile.
type Parent struct {
	Op     *operator.Operator
	Key    queue.Key
	Object *unstructured.Unstructured
	Memory *parents.Memory
	// Evaluated is the version of the parent from which the rule was evaluated.
	Evaluated string
	// Started is when the reconcile began. Due is true if the passing of time is a reason for it.
	Started time.Time
	Due     bool
	// Inputs are the versions of what was read; nil if the rule's status does not depend on itself.
	Inputs *feedback.Inputs
	// NamespaceEnds is true if the parent's namespace is being deleted.
	NamespaceEnds bool
	Changes       Changes
}

// Found is what a reconcile has found.
type Found struct {
	Result            program.Result
	Problems, Pending []conditions.Problem
	// Kept names the children that the rule no longer renders and that are not deleted for now.
	Kept string
}

// Report reports on one parent: in its status, in its conditions, and by Events.
type Report struct {
	Options
	Parent

	// Written is true once the answer to a write has shown that the parent exists.
	Written bool

	result program.Result
	// changed are the leaves of the status that the rule renders differently from what the parent has. It is set for a
	// rule that reads its own status.
	changed []string
	// muted is true if the rule may not emit the Events that it renders.
	muted bool
	// yields is true if Kanon's conditions on the parent belong to another rule.
	yields bool
}

// Report reports what a reconcile found. It returns its own problems. It reports nothing of a parent that looks ready
// while a problem is left that the next reconcile resolves: that one, which follows soon, knows whether it is ready.
func (s *Report) Report(ctx context.Context, f Found) []conditions.Problem {
	s.result = f.Result
	if slices.ContainsFunc(f.Problems, conditions.Problem.IsTransient) && s.summarize(f).Type == conditions.Ready {
		return nil
	}
	before := len(f.Problems)
	f.Problems = append(slices.Clip(f.Problems), s.yieldStatus(ctx)...)
	f.Problems = append(f.Problems, s.checkStatusLoop(ctx)...)
	f.Problems = append(f.Problems, s.checkEvents(ctx)...)
	summary := s.summarize(f)
	if s.result.KeepStatus {
		f.Problems = append(f.Problems, s.keepStatus(ctx, summary)...)
	} else if err := s.writeStatus(ctx, s.result.Status, summary); err != nil {
		f.Problems = append(f.Problems, s.problemOf(err))
		summary = s.summarize(f)
		if conditions.IsInvalid(err) {
			f.Problems = append(f.Problems, s.keepStatus(ctx, summary)...)
		}
	}
	if !slices.ContainsFunc(f.Problems, conditions.Problem.IsTransient) {
		s.emitEvents() // otherwise the next reconcile knows better, and follows soon
	}
	s.emitSummary(ctx, summary)
	s.count(ctx, summary)
	if !slices.ContainsFunc(f.Problems, conditions.Problem.IsTransient) {
		s.answer(ctx, summary)
	}
	return f.Problems[before:]
}

// ReportDeletion is Report for a parent that is being deleted: what the rule rendered in its status stays.
func (s *Report) ReportDeletion(ctx context.Context, f Found) []conditions.Problem {
	s.result = f.Result
	summary := s.summarize(f)
	problems := s.keepStatus(ctx, summary)
	s.emitSummary(ctx, summary)
	s.count(ctx, summary)
	s.answer(ctx, summary)
	return problems
}

// count records the parent's condition for metrics, and logs it.
func (s *Report) count(ctx context.Context, summary conditions.Summary) {
	logr.FromContextOrDiscard(ctx).V(4).Info("Reported", "condition", summary.Type, "reason", summary.Reason, "message", summary.Message)
	s.Parents.SetCondition(s.Key, parents.Condition{Type: summary.Type, Reason: summary.Reason})
}

func (s *Report) summarize(f Found) conditions.Summary {
	return conditions.Summarize(slices.Concat(f.Problems, f.Pending), s.result, f.Kept)
}

// ReportUnselected answers a request for a reconcile of a parent that the rule does not select.
func (s *Report) ReportUnselected(ctx context.Context) {
	s.answer(ctx, conditions.Summary{Type: "NotSelected", Message: "the rule does not select it"})
}

// Release removes everything that the rule ever wrote to the parent's status.
func (s *Report) Release(ctx context.Context) []conditions.Problem {
	if err := s.release(ctx); err != nil {
		return []conditions.Problem{s.problemOf(err)}
	}
	return nil
}

func (s *Report) release(ctx context.Context) error {
	if err := s.syncStatus(ctx, nil); err != nil {
		return err
	}
	if shape, err := s.conditionsShape(ctx); err != nil || !s.mergesConditions(shape, nil) {
		return err
	}
	return s.mergeConditions(ctx, nil)
}

// problemOf returns the problem that the parent's status could not be written.
func (s *Report) problemOf(err error) conditions.Problem {
	of := conditions.OfWrite("status", err)
	if s.Op.Program.HasSecrets {
		of.Err = conditions.Redact(of.Err)
	}
	return of
}
