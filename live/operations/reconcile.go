package operations

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/request"
	"kanon.dev/kanon/live/eventlog"
	"kanon.dev/kanon/live/follow"
	"kanon.dev/kanon/live/installed"
)

// Request requests a reconcile of parents.
type Request struct {
	Reader *installed.Reader
	Rules  *installed.Rules
	// Lease is the Lease of Kanon's leader election.
	Lease types.NamespacedName
	// Wait is how long to wait for the answers about one parent; zero does not wait.
	Wait time.Duration
	// Now is the time of the request.
	Now time.Time
	// Report is called with each result, one at a time.
	Report func(Result) error

	// why is the result of WhySilent.
	why func() string
	// writtenTo has, by the IDs of rules in files, the result of Reader.WrittenTo.
	writtenTo map[string]func(*unstructured.Unstructured) bool
}

// Result is the result for one parent.
type Result struct {
	Parent *unstructured.Unstructured
	// Answers are those of the rules, sorted by the rules' names.
	Answers []request.Answer
	// Silent are rules that did not answer in time. For Doubtful ones, it is not known whether they select the parent.
	Silent, Doubtful []string
	// Why explains why rules are silent: the state of Kanon, and the parent's conditions.
	Why string
	// Skipped is why nothing was requested; empty if it was.
	Skipped  string
	Warnings []string
}

// parallel is the number of concurrent requests. Kanon emits an Event for each, and drops Events once 1,000 are queued.
const parallel = 32

// expected are the rules that must, and those that may, answer a request for a parent.
type expected struct{ must, may []string }

// expect returns the rules that answer for a parent, or why none does.
func (r *Request) expect(ctx context.Context, parent *unstructured.Unstructured) (e expected, why string) {
	if request.IsSuspended(parent) {
		return e, "it is suspended; kanon resume ends that"
	}
	suspended := ""
	for _, rule := range r.Rules.Selecting(parent, installed.NamespaceLabels(ctx, r.Reader.Client)) {
		written := r.writtenTo[rule.ID]
		switch name := rule.Name.String(); {
		case rule.State == installed.Suspended:
			suspended = "rule " + name + " is suspended; kanon resume rule ends that"
		case rule.State == installed.Refused, rule.State == installed.DefinitionHeld, written != nil && !written(parent):
			e.may = append(e.may, name) // an earlier revision may run; for a rule in a file, what it selects is not known
		default:
			e.must = append(e.must, name)
		}
	}
	switch {
	case len(e.must) > 0:
		return e, ""
	case suspended != "":
		return e, suspended
	case len(e.may) > 0:
		return e, ""
	default:
		return e, "no rule selects it"
	}
}

// Reconcile requests a reconcile of parents, and waits for the answers.
func (r *Request) Reconcile(ctx context.Context, resourceOf func(*unstructured.Unstructured) (dynamic.ResourceInterface, error), parents []*unstructured.Unstructured) error {
	if err := r.learnFiles(ctx, parents); err != nil {
		return err
	}
	r.why = sync.OnceValue(func() string { return WhySilent(ctx, r.Reader.Client, r.Lease, time.Now()) })
	waiting := &waiting{of: make(map[types.UID]*asked)}
	ctx, cancel := context.WithCancel(ctx)
	listening, listen := errgroup.WithContext(ctx)
	if r.Wait > 0 {
		watches, err := r.watches(ctx, parents)
		if err != nil {
			cancel()
			return err
		}
		listening.Go(func() error { return follow.Objects(listen, waiting.take, watches...) })
	}
	var reporting sync.Mutex
	group, asking := errgroup.WithContext(listen)
	group.SetLimit(parallel)
	for _, parent := range parents {
		group.Go(func() error {
			result, err := r.one(asking, waiting, resourceOf, parent)
			if err != nil {
				return err
			}
			reporting.Lock()
			defer reporting.Unlock()
			return r.Report(result)
		})
	}
	err := group.Wait()
	cancel()
	return cmp.Or(listening.Wait(), err)
}

// learnFiles finds the parents of rules in files.
func (r *Request) learnFiles(ctx context.Context, parents []*unstructured.Unstructured) error {
	r.writtenTo = make(map[string]func(*unstructured.Unstructured) bool)
	for _, rule := range r.Rules.All {
		isParent := func(o *unstructured.Unstructured) bool {
			return o.GroupVersionKind().GroupKind() == rule.ParentKind().GroupKind()
		}
		if rule.Decoded != nil || !slices.ContainsFunc(parents, isParent) {
			continue
		}
		written, err := r.Reader.WrittenTo(ctx, rule, installed.Query{})
		if err != nil {
			return err
		}
		r.writtenTo[rule.ID] = written
	}
	return nil
}

// watches starts the watches for the answers.
func (r *Request) watches(ctx context.Context, parents []*unstructured.Unstructured) ([]follow.Watch, error) {
	const several = 10
	var namespaces []string
	for _, parent := range parents {
		namespaces = append(namespaces, cmp.Or(parent.GetNamespace(), metav1.NamespaceDefault))
	}
	slices.Sort(namespaces)
	if namespaces = slices.Compact(namespaces); len(namespaces) > several {
		namespaces = []string{metav1.NamespaceAll}
	}
	events := r.Reader.Client.Resource(corev1.SchemeGroupVersion.WithResource("events"))
	options := metav1.ListOptions{FieldSelector: "source=" + eventlog.Component + ",reason=" + request.ReasonReconciled}
	var watches []follow.Watch
	for _, namespace := range namespaces {
		w, err := follow.Start(ctx, events.Namespace(namespace), options)
		if err != nil {
			return nil, fmt.Errorf("listen for the answer: %w", err)
		}
		watches = append(watches, w)
	}
	return watches, nil
}

// one requests a reconcile of one parent.
func (r *Request) one(ctx context.Context, waiting *waiting, resourceOf func(*unstructured.Unstructured) (dynamic.ResourceInterface, error), parent *unstructured.Unstructured) (Result, error) {
	result := Result{Parent: parent}
	expected, why := r.expect(ctx, parent)
	if result.Skipped = why; why != "" {
		return result, nil
	}
	resource, err := resourceOf(parent)
	if err != nil {
		return result, err
	}
	value := r.Now.UTC().Format(time.RFC3339Nano)
	asked := waiting.ask(parent.GetUID(), value, expected)
	if result.Warnings, err = annotate(ctx, resource, parent, request.AnnotationReconcileAt, value); err != nil || r.Wait == 0 {
		return result, err
	}
	limit := time.NewTimer(r.Wait)
	defer limit.Stop()
	select {
	case <-asked.done:
	case <-limit.C:
	case <-ctx.Done():
		return result, ctx.Err()
	}
	result.Answers, result.Silent = waiting.got(asked)
	if len(result.Answers)+len(result.Silent) == 0 {
		result.Doubtful = expected.may
	}
	if len(result.Silent) > 0 {
		result.Why = r.why() + r.before(ctx, resource, parent, result.Silent)
	}
	return result, nil
}

// before is what the silent rules last reported in the parent's conditions; empty if there is nothing.
func (r *Request) before(ctx context.Context, resource dynamic.ResourceInterface, parent *unstructured.Unstructured, silent []string) (text string) {
	now, err := resource.Get(ctx, parent.GetName(), metav1.GetOptions{})
	if err != nil {
		return ""
	}
	for _, rule := range r.Rules.All {
		if known := rule.ParentOf(now); known.Ready != "" && slices.Contains(silent, rule.Name.String()) {
			text += fmt.Sprintf("; before that, rule %s reported Ready: %s (%s): %s", rule.Name, known.Ready, known.Reason, known.Message)
		}
	}
	return text
}

// waiting has the requests that await answers.
type waiting struct {
	mu sync.Mutex
	of map[types.UID]*asked // guarded by mu, including its values
}

// asked is the request for one parent.
type asked struct {
	value    string
	expected expected
	answers  []request.Answer
	// done is closed once the answers are complete.
	done chan struct{}
}

func (w *waiting) ask(parent types.UID, value string, e expected) *asked {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := &asked{value: value, expected: e, done: make(chan struct{})}
	w.of[parent] = a
	return a
}

// take handles an Event, which may be an answer.
func (w *waiting) take(_ watch.EventType, object *unstructured.Unstructured) error {
	event, err := eventlog.Of(object)
	if err != nil {
		return err
	}
	answer, ok := request.ParseAnswer(event.Message)
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.of[event.UID]; ok && a != nil && a.value == answer.Request {
		a.take(answer)
	}
	return nil
}

// take records the first answer of each expected rule.
func (a *asked) take(answer request.Answer) {
	if !slices.Contains(a.expected.must, answer.Rule) && !slices.Contains(a.expected.may, answer.Rule) || slices.ContainsFunc(a.answers, func(other request.Answer) bool { return other.Rule == answer.Rule }) {
		return
	}
	complete := a.isComplete()
	a.answers = append(a.answers, answer)
	if !complete && a.isComplete() {
		close(a.done)
	}
}

// silent lists the rules that must answer and have not.
func (a *asked) silent() []string {
	return slices.DeleteFunc(slices.Clone(a.expected.must), func(rule string) bool {
		return slices.ContainsFunc(a.answers, func(answer request.Answer) bool { return answer.Rule == rule })
	})
}

// isComplete reports whether all rules that must answer have, and at least one rule has.
func (a *asked) isComplete() bool { return len(a.answers) > 0 && len(a.silent()) == 0 }

// got returns the answers, and the rules that did not answer.
func (w *waiting) got(a *asked) (answers []request.Answer, silent []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	answers, silent = slices.Clone(a.answers), a.silent()
	slices.SortFunc(answers, func(x, y request.Answer) int { return cmp.Compare(x.Rule, y.Rule) })
	return answers, silent
}
