package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/conditions"
)

// Request requests a reconcile of parents.
type Request struct {
	Reader *Reader
	Rules  *Rules
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
	// selects has, by the IDs of rules in files, the result of Reader.Selector.
	selects map[string]func(*unstructured.Unstructured) bool
}

// Result is the result for one parent.
type Result struct {
	Parent *unstructured.Unstructured
	// Answers are those of the rules, sorted by the rules' names.
	Answers []conditions.Answer
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
	if conditions.IsSuspended(parent) {
		return e, "it is suspended; kanon resume ends that"
	}
	why = "no rule selects it"
	for _, rule := range r.Rules.Selecting(parent, NamespaceLabels(ctx, r.Reader.Client)) {
		selects := r.selects[rule.ID]
		switch name := rule.Name.String(); {
		case rule.State == Suspended:
			why = "rule " + name + " is suspended; kanon resume rule ends that"
		case rule.State == Refused, rule.State == DefinitionHeld, selects != nil && !selects(parent):
			e.may = append(e.may, name) // an earlier revision may run; for a rule in a file, what it selects is not known
		default:
			e.must = append(e.must, name)
		}
	}
	if len(e.must) > 0 || len(e.may) > 0 && why == "no rule selects it" {
		return e, ""
	}
	return e, why
}

// Target is a parent with the client for it.
type Target struct {
	Object   *unstructured.Unstructured
	Resource dynamic.ResourceInterface
}

// Reconcile requests a reconcile of parents, and waits for the answers.
func (r *Request) Reconcile(ctx context.Context, parents []Target) error {
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
		listening.Go(func() error { return Follow(listen, waiting.take, watches...) })
	}
	var reporting sync.Mutex
	group, asking := errgroup.WithContext(listen)
	group.SetLimit(parallel)
	for _, parent := range parents {
		group.Go(func() error {
			result, err := r.one(asking, waiting, parent)
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

// learnFiles finds what rules in files select.
func (r *Request) learnFiles(ctx context.Context, parents []Target) (err error) {
	r.selects = make(map[string]func(*unstructured.Unstructured) bool)
	for _, parent := range parents {
		for _, rule := range r.Rules.OfParents(parent.Object.GroupVersionKind().GroupKind()) {
			if rule.Decoded != nil || r.selects[rule.ID] != nil {
				continue
			}
			if r.selects[rule.ID], err = r.Reader.Selector(ctx, rule, metav1.NamespaceAll); err != nil {
				return err
			}
		}
	}
	return nil
}

// watches starts the watches for the answers.
func (r *Request) watches(ctx context.Context, parents []Target) ([]Watch, error) {
	const several = 10
	var namespaces []string
	for _, parent := range parents {
		namespaces = append(namespaces, cmp.Or(parent.Object.GetNamespace(), metav1.NamespaceDefault))
	}
	slices.Sort(namespaces)
	if namespaces = slices.Compact(namespaces); len(namespaces) > several {
		namespaces = []string{metav1.NamespaceAll}
	}
	events := r.Reader.Client.Resource(corev1.SchemeGroupVersion.WithResource("events"))
	options := metav1.ListOptions{FieldSelector: "source=" + EventComponent + ",reason=" + conditions.ReasonReconciled}
	var watches []Watch
	for _, namespace := range namespaces {
		w, err := StartWatch(ctx, events.Namespace(namespace), options)
		if err != nil {
			return nil, fmt.Errorf("listen for the answer: %w", err)
		}
		watches = append(watches, w)
	}
	return watches, nil
}

// one requests a reconcile of one parent.
func (r *Request) one(ctx context.Context, waiting *waiting, target Target) (result Result, err error) {
	parent, resource := target.Object, target.Resource
	result.Parent = parent
	expected, why := r.expect(ctx, parent)
	if result.Skipped = why; why != "" {
		return result, nil
	}
	value := r.Now.UTC().Format(time.RFC3339Nano)
	asked := waiting.ask(parent.GetUID(), value, expected)
	if result.Warnings, err = annotate(ctx, resource, parent, conditions.AnnotationReconcileAt, value); err != nil || r.Wait == 0 {
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
	answers  []conditions.Answer
	// done is closed once all rules that must answer have, and at least one rule has.
	done chan struct{}
}

func (w *waiting) ask(parent types.UID, value string, e expected) *asked {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := &asked{value: value, expected: e, done: make(chan struct{})}
	w.of[parent] = a
	return a
}

// take handles an Event, which may be an answer. Only the first answer of each expected rule counts.
func (w *waiting) take(_ watch.EventType, object *unstructured.Unstructured) error {
	event, err := EventOf(object)
	if err != nil {
		return err
	}
	answer, ok := conditions.ParseAnswer(event.Message)
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.of[event.UID]
	if !ok || a == nil || a.value != answer.Request || a.hasAnswered(answer.Rule) || !slices.Contains(slices.Concat(a.expected.must, a.expected.may), answer.Rule) {
		return nil
	}
	isFirst, before := len(a.answers) == 0, len(a.silent())
	a.answers = append(a.answers, answer)
	if left := len(a.silent()); left == 0 && (isFirst || before > 0) {
		close(a.done)
	}
	return nil
}

func (a *asked) hasAnswered(rule string) bool {
	return slices.ContainsFunc(a.answers, func(answer conditions.Answer) bool { return answer.Rule == rule })
}

// silent lists the rules that must answer and have not.
func (a *asked) silent() []string {
	return slices.DeleteFunc(slices.Clone(a.expected.must), a.hasAnswered)
}

// got returns the answers, and the rules that did not answer.
func (w *waiting) got(a *asked) (answers []conditions.Answer, silent []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	answers = slices.SortedFunc(slices.Values(a.answers), func(x, y conditions.Answer) int { return cmp.Compare(x.Rule, y.Rule) })
	return answers, a.silent()
}

// WhySilent explains, by Kanon's Lease, why Kanon may not answer. A Kanon that runs without leader election has no
// Lease.
func WhySilent(ctx context.Context, client dynamic.Interface, lease types.NamespacedName, now time.Time) string {
	const unknown = "is Kanon running? kanon get rules shows what it reports"
	object, err := client.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).Namespace(lease.Namespace).Get(ctx, lease.Name, metav1.GetOptions{})
	if err != nil {
		return unknown
	}
	var held coordinationv1.Lease
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &held); err != nil || held.Spec.RenewTime == nil || held.Spec.LeaseDurationSeconds == nil {
		return unknown
	}
	renewed := held.Spec.RenewTime.Time
	age := Age(renewed, now)
	switch lasts := time.Duration(*held.Spec.LeaseDurationSeconds) * time.Second; {
	case held.Spec.HolderIdentity == nil || *held.Spec.HolderIdentity == "", now.Sub(renewed) > lasts:
		return fmt.Sprintf("no Kanon runs, as Lease %s in namespace %s was renewed %s ago", lease.Name, lease.Namespace, age)
	default:
		return fmt.Sprintf("%s runs, as it renewed its Lease %s ago: it has much to do, or may not create Events; its log says which", *held.Spec.HolderIdentity, age)
	}
}
