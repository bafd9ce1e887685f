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

// Lifetime is how long an answer is cached. A right that is granted or revoked takes effect after that at the latest.
const Lifetime = 10 * time.Second

// reviewTimeout bounds one SubjectAccessReview.
const reviewTimeout = 10 * time.Second

// maxAnswers bounds the answers cached for the ServiceAccounts of one namespace. Beyond it, all answers of that
// namespace are dropped. So a tenant with many questions does not evict the answers of others.
const maxAnswers = 10_000

// Reviewer creates SubjectAccessReviews. Client-go's SubjectAccessReviewInterface implements it.
type Reviewer interface {
	Create(context.Context, *authorizationv1.SubjectAccessReview, metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error)
}

// Read is one read to check.
type Read struct {
	Resource schema.GroupVersionResource
	// Namespace is empty for cluster-scoped objects, and for all namespaces.
	Namespace string
	// Name is the name of the object, if only one is read.
	Name string
}

// DeniedError reports that a ServiceAccount may not read something.
type DeniedError struct {
	Identity impersonation.Identity
	Read     Read
	// Verbs are the verbs that it lacks. Without any, the identity is confined to another namespace.
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

// Reason returns the reason for a condition. stalled is true: retrying does not help.
func (e *DeniedError) Reason() (reason string, stalled bool) { return "Forbidden", true }

// Reads decides what may be read. It is safe for concurrent use.
type Reads struct {
	reviewer Reviewer
	now      func() time.Time
	flights  singleflight.Group

	mu sync.Mutex
	// answers has the cached answers by the namespace of the ServiceAccount; swept is when old ones were last
	// dropped. Guarded by mu.
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

// New returns Reads with an empty cache.
func New(reviewer Reviewer, now func() time.Time) *Reads {
	return &Reads{reviewer: reviewer, now: now, answers: make(map[string]map[question]answer)}
}

// Check returns nil if somebody may read something, a *DeniedError if not, or the error of a request. Who may only
// get one object by its name may read that one.
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

// CheckEvents is Check for creating Events in a namespace. Kanon sends Events in batches and with its own rights, so
// it checks first.
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

// lacks returns the verbs of an informer that somebody may not use.
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

// allowed returns one answer, from the cache or from the API server.
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
		at := r.now() // before the request: a right that changes meanwhile also takes effect after Lifetime
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

// sweepLocked drops expired answers, once per Lifetime.
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

// review returns a question as a SubjectAccessReview.
func review(who impersonation.Identity, verb string, read Read) *authorizationv1.SubjectAccessReview {
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.User(), Groups: who.Groups(),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: read.Namespace, Verb: verb, Group: read.Resource.Group, Version: read.Resource.Version, Resource: read.Resource.Resource, Name: read.Name,
		},
	}}
}
