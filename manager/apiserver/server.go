package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
)

const (
	// AnswerLimit is how long an answer of an API server may take.
	AnswerLimit = 5 * time.Second
	// firstPause and longestPause bound the pauses between retries. Each is twice the one before.
	firstPause   = time.Second
	longestPause = 15 * time.Second
)

// ErrNoAnswer is the error of a request that takes longer than AnswerLimit.
var ErrNoAnswer = errors.New("no answer")

// ErrNoVersion is the error of an answer that is not a version of Kubernetes, such as the page of a proxy.
var ErrNoVersion = errors.New("the answer is no version of Kubernetes")

// Server is the API server that Kanon works on.
type Server struct {
	client rest.Interface
	host   string
	limit  time.Duration                        // for one answer
	after  func(time.Duration) <-chan time.Time // time.After
}

// New makes a Server. It sends no request. host names the server in errors and logs.
func New(client rest.Interface, host string) *Server {
	return &Server{client: client, host: host, limit: AnswerLimit, after: time.After}
}

// Await requests the API server's version until it answers, and logs failures. It returns false if ctx ends first.
// Nothing else starts before that: if many parts reported the same outage, its cause would be hard to find.
func (s *Server) Await(ctx context.Context) bool {
	log := logr.FromContextOrDiscard(ctx)
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		version, err := s.versionInTime(ctx)
		if err == nil {
			log.Info("The API server answers", "kubernetes", version)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		log.Error(err, "The API server cannot be used; trying again", "server", s.host, "in", pause.String())
		select {
		case <-ctx.Done():
		case <-s.after(pause):
		}
	}
	return false
}

// versionInTime is Version within the limit.
func (s *Server) versionInTime(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("%w within %s", ErrNoAnswer, s.limit))
	defer cancel()
	version, err := s.Version(ctx)
	if err != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return version, err
}

// Version returns the version of Kubernetes, or "unknown" if the server answers without it. The error reports why there
// is no answer, or why it cannot be used. Only ctx and the client limit the time.
func (s *Server) Version(ctx context.Context) (string, error) {
	body, err := s.client.Get().AbsPath("/version").MaxRetries(0).Do(ctx).Raw()
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return "unknown", nil
	case apierrors.IsUnauthorized(err):
		return "", fmt.Errorf("it does not accept the credentials: %w", err)
	case err != nil:
		return "", err
	}
	var info apiversion.Info
	if err := json.Unmarshal(body, &info); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoVersion, err)
	}
	return info.GitVersion, nil
}
