package tenant

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/cache"
)

// Lifetime is how long an answer is cached. A right that is granted or revoked takes effect after that at the latest.
const Lifetime = 10 * time.Second

// reviewTimeout bounds one SubjectAccessReview.
const reviewTimeout = 10 * time.Second

// maxAnswers bounds the cached answers. Beyond it, the one that was used least recently is dropped.
const maxAnswers = 50_000

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
	Identity Identity
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
	clock    cache.Clock
	flights  singleflight.Group
	// answers has, by question, whether it is allowed.
	answers *cache.LRUExpireCache
}

type question struct {
	user, verb string
	read       Read
}

// NewReads returns Reads with an empty cache.
func NewReads(reviewer Reviewer, clock cache.Clock) *Reads {
	return &Reads{reviewer: reviewer, clock: clock, answers: cache.NewLRUExpireCacheWithClock(maxAnswers, clock)}
}

// Check returns nil if somebody may read something, a *DeniedError if not, or the error of a request. Who may only
// get one object by its name may read that one.
func (r *Reads) Check(ctx context.Context, who Identity, read Read) error {
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
func (r *Reads) CheckEvents(ctx context.Context, who Identity, namespace string) error {
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
func (r *Reads) lacks(ctx context.Context, who Identity, read Read) (verbs []string, err error) {
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
func (r *Reads) allowed(ctx context.Context, who Identity, verb string, read Read) (bool, error) {
	q := question{user: who.User(), verb: verb, read: read}
	if known, ok := r.answers.Get(q); ok {
		return known == true, nil
	}
	key := fmt.Sprintf("%q", []any{q.user, verb, read.Resource.String(), read.Namespace, read.Name})
	allowed, err, _ := r.flights.Do(key, func() (any, error) {
		at := r.clock.Now() // before the request: a right that changes meanwhile also takes effect after Lifetime
		own, cancel := context.WithTimeout(NewContext(context.WithoutCancel(ctx), Identity{}), reviewTimeout)
		defer cancel()
		review, err := r.reviewer.Create(own, review(who, verb, read), metav1.CreateOptions{})
		if err != nil {
			return false, fmt.Errorf("ask the API server what ServiceAccount %s may do: %w", who.ServiceAccount, err)
		}
		r.answers.Add(q, review.Status.Allowed, Lifetime-r.clock.Now().Sub(at))
		return review.Status.Allowed, nil
	})
	yes, _ := allowed.(bool)
	return yes && err == nil, err
}

// review returns a question as a SubjectAccessReview.
func review(who Identity, verb string, read Read) *authorizationv1.SubjectAccessReview {
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.User(), Groups: who.Groups(),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: read.Namespace, Verb: verb, Group: read.Resource.Group, Version: read.Resource.Version, Resource: read.Resource.Resource, Name: read.Name,
		},
	}}
}
