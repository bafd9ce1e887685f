package authorization

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/impersonation"
)

// Lifetime is how long an answer is kept. A right that is taken away, or given, counts after that at the latest.
const Lifetime = 10 * time.Second

// reviewTimeout is how long one question may take.
const reviewTimeout = 10 * time.Second

// maxAnswers bounds what is kept of the ServiceAccounts of one namespace: beyond it, all of these answers are asked for again. So a
// tenant with many questions does not have those of others asked again.
const maxAnswers = 10_000

// Reviewer asks the API server whether somebody may do something. The SubjectAccessReviews of client-go are one.
type Reviewer interface {
	Create(context.Context, *authorizationv1.SubjectAccessReview, metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error)
}

// Read is what is read.
type Read struct {
	Resource schema.GroupVersionResource
	// Namespace is empty for cluster-scoped objects, and for those of all namespaces.
	Namespace string
	// Name is that of the object, if it is only one.
	Name string
}

// DeniedError says that a ServiceAccount may not read something.
type DeniedError struct {
	Identity impersonation.Identity
	Read     Read
	// Verbs are those that it lacks.
	Verbs []string
}

func (e *DeniedError) Error() string {
	resource := e.Read.Resource.GroupResource().String()
	where := "at the cluster scope"
	if e.Read.Namespace != "" {
		where = "in namespace " + e.Read.Namespace
	}
	if len(e.Verbs) == 0 {
		return fmt.Sprintf("the rule is confined to namespace %s and may not read %s %s", e.Identity.ServiceAccount.Namespace, resource, where)
	}
	return fmt.Sprintf("ServiceAccount %s may not %s %s %s", e.Identity.ServiceAccount, strings.Join(e.Verbs, ", "), resource, where)
}

// Reason is that of a condition, and true: nothing changes until somebody changes something.
func (e *DeniedError) Reason() (reason string, stalled bool) { return "Forbidden", true }

// Reads decides what may be read. It is safe for concurrent use.
type Reads struct {
	reviewer Reviewer
	now      func() time.Time
	flights  singleflight.Group

	mu sync.Mutex
	// answers is what was asked, by the namespace of the ServiceAccount, and swept when old answers were dropped last. Guarded by mu.
	answers map[string]map[question]answer
	swept   time.Time
}

type question struct {
	user, verb string
	read       Read
}

type answer struct {
	allowed bool
	at      time.Time
}

// New makes Reads that know nothing yet.
func New(reviewer Reviewer, now func() time.Time) *Reads {
	return &Reads{reviewer: reviewer, now: now, answers: make(map[string]map[question]answer)}
}

// Check tells whether somebody may read something: nil, a *DeniedError, or an error of a request. Who may get one object by its name
// may read that one.
func (r *Reads) Check(ctx context.Context, who impersonation.Identity, read Read) error {
	if who.IsZero() {
		return nil
	}
	if !who.Permits(read.Namespace) {
		return &DeniedError{Identity: who, Read: read}
	}
	all := Read{Resource: read.Resource}
	if !who.Confined {
		if lacks, err := r.lacks(ctx, who, all); err != nil || len(lacks) == 0 {
			return err
		}
	}
	all.Namespace = read.Namespace
	lacks, err := r.lacks(ctx, who, all)
	if err != nil || len(lacks) == 0 {
		return err
	}
	if read.Name != "" {
		if allowed, err := r.allowed(ctx, who, "get", read); err != nil || allowed {
			return err
		}
	}
	return &DeniedError{Identity: who, Read: read, Verbs: lacks}
}

// CheckEvents tells whether somebody may create Events in a namespace, as Check does. Events are sent by Kanon, many together, and so
// with its own rights.
func (r *Reads) CheckEvents(ctx context.Context, who impersonation.Identity, namespace string) error {
	if who.IsZero() {
		return nil
	}
	read := Read{Resource: corev1.SchemeGroupVersion.WithResource("events"), Namespace: namespace}
	if !who.Permits(namespace) {
		return &DeniedError{Identity: who, Read: read}
	}
	allowed, err := r.allowed(ctx, who, "create", read)
	if err != nil || allowed {
		return err
	}
	return &DeniedError{Identity: who, Read: read, Verbs: []string{"create"}}
}

// lacks lists the verbs of an informer that somebody may not use.
func (r *Reads) lacks(ctx context.Context, who impersonation.Identity, read Read) (verbs []string, err error) {
	for _, verb := range []string{"get", "list", "watch"} {
		allowed, err := r.allowed(ctx, who, verb, read)
		if err != nil {
			return nil, err
		}
		if !allowed {
			verbs = append(verbs, verb)
		}
	}
	return verbs, nil
}

// allowed asks one question, unless the answer is known.
func (r *Reads) allowed(ctx context.Context, who impersonation.Identity, verb string, read Read) (bool, error) {
	q := question{user: who.User(), verb: verb, read: read}
	if known, ok := r.known(who, q); ok {
		return known, nil
	}
	key := fmt.Sprintf("%q", []any{q.user, verb, read.Resource.String(), read.Namespace, read.Name})
	allowed, err, _ := r.flights.Do(key, func() (any, error) {
		if known, ok := r.known(who, q); ok {
			return known, nil
		}
		at := r.now() // a right that changes while it is asked for counts after Lifetime, too
		own, cancel := context.WithTimeout(impersonation.NewContext(context.WithoutCancel(ctx), impersonation.Identity{}), reviewTimeout)
		defer cancel()
		review, err := r.reviewer.Create(own, review(who, verb, read), metav1.CreateOptions{})
		if err != nil {
			return false, fmt.Errorf("ask the API server what ServiceAccount %s may do: %w", who.ServiceAccount, err)
		}
		r.remember(who, q, answer{allowed: review.Status.Allowed, at: at})
		return review.Status.Allowed, nil
	})
	yes, _ := allowed.(bool)
	return yes && err == nil, err
}

func (r *Reads) known(who impersonation.Identity, q question) (allowed, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.answers[who.ServiceAccount.Namespace][q]
	return a.allowed, ok && r.now().Sub(a.at) < Lifetime
}

func (r *Reads) remember(who impersonation.Identity, q question, a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweepLocked()
	of := r.answers[who.ServiceAccount.Namespace]
	if len(of) == 0 || len(of) >= maxAnswers {
		of = make(map[question]answer)
		r.answers[who.ServiceAccount.Namespace] = of
	}
	of[q] = a
}

// sweepLocked drops, now and then, what is too old to count.
func (r *Reads) sweepLocked() {
	now := r.now()
	if now.Sub(r.swept) < Lifetime {
		return
	}
	r.swept = now
	for namespace, of := range r.answers {
		maps.DeleteFunc(of, func(_ question, a answer) bool { return now.Sub(a.at) >= Lifetime })
		if len(of) == 0 {
			delete(r.answers, namespace)
		}
	}
}

// review is the question as the API server takes it.
func review(who impersonation.Identity, verb string, read Read) *authorizationv1.SubjectAccessReview {
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.User(), Groups: who.Groups(),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: read.Namespace, Verb: verb, Group: read.Resource.Group, Version: read.Resource.Version, Resource: read.Resource.Resource, Name: read.Name,
		},
	}}
}
