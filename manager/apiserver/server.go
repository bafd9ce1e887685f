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
	// AnswerLimit is how long one answer of an API server may take before it counts as one that does not respond.
	AnswerLimit = 5 * time.Second
	// firstPause and longestPause bound the pauses between tries, each twice
	// the one before.
	firstPause   = time.Second
	longestPause = 15 * time.Second
)

// ErrNoAnswer is the error of a request whose answer takes longer than AnswerLimit.
var ErrNoAnswer = errors.New("no answer")

// ErrNoVersion is the error of an answer that is no version of Kubernetes, such as the page of a proxy.
var ErrNoVersion = errors.New("the answer is no version of Kubernetes")

// Server is an API server that may not answer.
type Server struct {
	client rest.Interface
	host   string
	limit  time.Duration                        // for one answer
	after  func(time.Duration) <-chan time.Time // time.After
}

// New makes a Server. It sends no request. Errors and logs call it host.
func New(client rest.Interface, host string) *Server {
	return &Server{client: client, host: host, limit: AnswerLimit, after: time.After}
}

// Await asks the API server for its version until it answers, and logs how that
// goes. It returns false when ctx ends first. Nothing else is started before:
// many parts that each complain of the same thing would hide what it is.
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

// Version is the version of Kubernetes, or "unknown" if the server answers and does not show it. The error says why there was no
// answer, or why it cannot be used. How long it may take is for ctx and the client to say.
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
