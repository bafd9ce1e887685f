package conditions

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/rules/program"
)

// What stalls comes before what is under way, and the first of each gives the reason.
func TestSummarize(t *testing.T) {
	t.Parallel()
	failed := OfWrite("child web", &apply.NameConflictError{})
	waits := Problem{Subject: "lookup a", Reason: ReasonWaiting, Err: errors.New("a does not exist")}
	node := func(n program.NodeResult) program.Result { return program.Result{Nodes: []program.NodeResult{n}} }
	tests := map[string]struct {
		problems []Problem
		rendered program.Result
		kept     string
		typ      string
		reason   string
		message  string
	}{
		"nothing":                {typ: Ready, reason: ReasonReady, message: "every child is up to date and ready"},
		"waits":                  {problems: []Problem{waits}, typ: Reconciling, reason: ReasonWaiting, message: "lookup a: a does not exist"},
		"stalls before it waits": {problems: []Problem{waits, failed}, typ: Stalled, reason: ReasonNameTaken},
		"settles by itself":      {problems: []Problem{{Err: Transient("soon")}}, typ: Ready, reason: ReasonReady},
		"a child fails":          {rendered: node(program.NodeResult{ID: "job", State: program.StateApplied, Failed: true, Problem: program.Problem{Message: "BackoffLimitExceeded"}}), typ: Stalled, reason: ReasonChildFailed, message: "child job: BackoffLimitExceeded"},
		"a rollout stalls":       {rendered: node(program.NodeResult{ID: "pods", Stalled: true}), typ: Stalled, reason: ReasonRollout},
		"an expression fails":    {rendered: node(program.NodeResult{ID: "a", State: program.StateFailed, Problem: program.Problem{Path: "template.data", Message: "parent.spec.x is missing", Advice: "write orValue"}}), typ: Stalled, reason: ReasonEvaluation, message: "spec.x is missing (child a: template.data); the rule's author can write orValue"},
		"a child is not ready":   {rendered: node(program.NodeResult{ID: "a", State: program.StateApplied}), typ: Reconciling, reason: ReasonProgressing},
		"a missing kind says what the others wait for": {
			problems: []Problem{waits}, rendered: node(program.NodeResult{ID: "a", State: program.StateWaiting, Problem: program.Problem{KindMissing: true}}),
			typ: Reconciling, reason: ReasonKindMissing,
		},
		"one cause at three places": {
			problems: []Problem{waits, {Subject: "child a", Err: errors.New("a/x: no namespace"), Cause: "no namespace"}},
			rendered: program.Result{Nodes: []program.NodeResult{
				{ID: "b", State: program.StateWaiting, Problem: program.Problem{Path: "when", Message: "no namespace"}},
				{ID: "c", State: program.StateWaiting, Problem: program.Problem{Message: "no namespace"}},
			}},
			typ: Reconciling, reason: ReasonWaiting, message: "lookup a: a does not exist; child a, child b: when, child c: no namespace",
		},
		"one cause at five places": {
			rendered: program.Result{StatusFailed: []program.Problem{
				{Path: "status.a", Message: "parent.spec.x is missing", Advice: "write orValue"},
				{Path: "status.b", Message: "parent.spec.x is missing", Advice: "write orValue"},
				{Path: "status.c", Message: "parent.spec.x is missing", Advice: "write orValue"},
				{Path: "status.d", Message: "parent.spec.x is missing", Advice: "write orValue"},
			}},
			typ: Stalled, reason: ReasonEvaluation, message: "spec.x is missing (status.a, status.b, status.c and 1 more); the rule's author can write orValue",
		},
		"several objects of one child": {
			problems: []Problem{
				{Subject: "child a", Reason: ReasonWaiting, Err: errors.New("a/x: no namespace"), Cause: "no namespace"},
				{Subject: "child a", Reason: ReasonWaiting, Err: errors.New("a/y: no namespace"), Cause: "no namespace"},
			},
			typ: Reconciling, reason: ReasonWaiting, message: "child a (2 objects): no namespace",
		},
		"one place":               {problems: []Problem{{Subject: "child a", Reason: ReasonWaiting, Err: errors.New("a/x: no namespace"), Cause: "no namespace"}}, typ: Reconciling, reason: ReasonWaiting, message: "child a: a/x: no namespace"},
		"kept beside what stalls": {problems: []Problem{failed}, kept: Kept([]string{"b"}), typ: Stalled, reason: ReasonNameTaken, message: failed.String() + "; b is no longer rendered"},
		"kept":                    {kept: Kept([]string{"b", "a"}), typ: Reconciling, reason: ReasonWaiting, message: "2 objects are no longer rendered, and are not deleted until everything else is up to date: a, b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Summarize(test.problems, test.rendered, test.kept)
			if got.Type != test.typ || got.Reason != test.reason || !strings.HasPrefix(got.Message, test.message) {
				t.Errorf("got %+v, want %s, %s, %q", got, test.typ, test.reason, test.message)
			}
		})
	}
}

// What a cleanup waits for is not repeated by the child that it waits for.
func TestSummarizeCleanup(t *testing.T) {
	t.Parallel()
	nodes := []program.NodeResult{
		{ID: "drop", State: program.StateApplied, Failed: true, Problem: program.Problem{Message: "Job Failed"}},
		{ID: "other", State: program.StateApplied, Failed: true, Problem: program.Problem{Message: "Job Failed"}},
	}
	for name, test := range map[string]struct {
		stalled bool
		want    string
	}{
		"stalled": {true, "spec.finalize: waits for child drop to be ready: Job Failed; child other: Job Failed"},
		// The condition has what stalls only.
		"under way": {false, "child drop, child other: Job Failed"},
	} {
		problem := Problem{Subject: SubjectFinalize, Reason: ReasonFinalizing, Stalled: test.stalled, Err: errors.New("waits for child drop to be ready: Job Failed")}
		if got := Summarize([]Problem{problem}, program.Result{Nodes: nodes}, "").Message; got != test.want {
			t.Errorf("%s: the message is %q, want %q", name, got, test.want)
		}
	}
}

// A failed write has the reason of what is wrong, stalls if nothing changes by itself, and is logged if nobody else reads of it.
func TestOfWrite(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err             error
		reason          string
		stalled, logged bool
	}{
		"the network":           {errors.New("connection refused"), ReasonWrite, false, true},
		"the name is taken":     {&apply.NameConflictError{}, ReasonNameTaken, true, false},
		"refused":               {&apply.InvalidError{Err: errors.New("no")}, ReasonInvalid, true, false},
		"forbidden":             {apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("no")), ReasonForbidden, true, false},
		"being deleted":         {&apply.TerminatingError{}, ReasonTerminating, false, false},
		"a missing namespace":   {&apply.NamespaceMissingError{}, ReasonNamespaceMissing, false, false},
		"replaced meanwhile":    {&apply.ReplacedError{}, ReasonWrite, false, false},
		"settled by the next":   {Transient("soon"), ReasonWrite, false, false},
		"an error with its own": {reasoned{errors.New("x")}, ReasonContested, true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := OfWrite("child a", test.err)
			if got.Reason != test.reason || got.Stalled != test.stalled || got.IsLogged() != test.logged {
				t.Errorf("got %s, stalled %t, logged %t; want %s, %t, %t", got.Reason, got.Stalled, got.IsLogged(), test.reason, test.stalled, test.logged)
			}
		})
	}
}

type reasoned struct{ error }

func (reasoned) Reason() (reason string, stalled bool) { return ReasonContested, true }
