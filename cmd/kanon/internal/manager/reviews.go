package manager

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

const (
	// reviewLimit is how long the API server may take for a review.
	reviewLimit = 10 * time.Second
	// reviewAge is how long an answer is cached, as in kube-controller-manager, and reviewCount how many are.
	reviewAge   = 10 * time.Second
	reviewCount = 256
)

// Reviews asks the API server who sends a request and whether it is permitted.
type Reviews struct {
	tokens authenticationclient.TokenReviewInterface
	access authorizationclient.SubjectAccessReviewInterface
	// users caches the answers about tokens by their hashes, and permitted those about requests.
	users, permitted *utilcache.LRUExpireCache
}

// NewReviews makes Reviews with these clients, which need the right to create TokenReviews and SubjectAccessReviews.
func NewReviews(tokens authenticationclient.TokenReviewInterface, access authorizationclient.SubjectAccessReviewInterface) *Reviews {
	return &Reviews{
		tokens: tokens, access: access,
		users: utilcache.NewLRUExpireCache(reviewCount), permitted: utilcache.NewLRUExpireCache(reviewCount),
	}
}

// Protect passes requests to next if the user of their bearer token may use the request's verb on its path, as a
// nonResourceURL of a ClusterRole.
func (r *Reviews) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		ctx, cancel := context.WithTimeout(request.Context(), reviewLimit)
		defer cancel()
		token := bearerToken(request)
		user, known, err := r.authenticate(ctx, token)
		if err != nil {
			fail(w, request, "who sends this request", err)
			return
		}
		if !known {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "Unauthorized: send the bearer token of a user or ServiceAccount of the cluster", http.StatusUnauthorized)
			return
		}
		path, verb := request.URL.Path, strings.ToLower(request.Method)
		permitted, err := r.authorize(ctx, token, user, verb, path)
		if err != nil {
			fail(w, request, "whether this request is permitted", err)
			return
		}
		if !permitted {
			http.Error(w, fmt.Sprintf("Forbidden: user %q cannot %s path %q", user.Username, verb, path), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, request)
	})
}

// fail answers a request whose review failed.
func fail(w http.ResponseWriter, request *http.Request, what string, err error) {
	logr.FromContextOrDiscard(request.Context()).Error(err, "Cannot find out "+what, "path", request.URL.Path)
	http.Error(w, "the API server does not answer "+what, http.StatusInternalServerError)
}

// bearerToken returns the token of a request; empty if there is none.
func bearerToken(request *http.Request) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(request.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// authenticate returns the user of a token; false if it has none.
func (r *Reviews) authenticate(ctx context.Context, token string) (authenticationv1.UserInfo, bool, error) {
	if token == "" {
		return authenticationv1.UserInfo{}, false, nil
	}
	hash := sha256.Sum256([]byte(token))
	if status, ok := r.users.Get(hash); ok {
		status, ok := status.(authenticationv1.TokenReviewStatus)
		return status.User, ok && status.Authenticated, nil
	}
	review, err := r.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, false, fmt.Errorf("review a token: %w", err)
	}
	r.users.Add(hash, review.Status, reviewAge)
	return review.Status.User, review.Status.Authenticated, nil
}

// authorize reports whether the user of a token may use a verb on a path. Answers are cached by token, because two
// tokens of one user may have different groups.
func (r *Reviews) authorize(ctx context.Context, token string, user authenticationv1.UserInfo, verb, path string) (bool, error) {
	type question struct {
		token      [sha256.Size]byte
		verb, path string
	}
	asked := question{token: sha256.Sum256([]byte(token)), verb: verb, path: path}
	if permitted, ok := r.permitted.Get(asked); ok {
		return permitted == true, nil
	}
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review, err := r.access.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: verb, Path: path},
	}}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("review the access of %s: %w", user.Username, err)
	}
	permitted := review.Status.Allowed && !review.Status.Denied
	r.permitted.Add(asked, permitted, reviewAge)
	return permitted, nil
}
