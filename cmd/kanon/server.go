package main

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
	// answerLimit is how long the API server may take to say its version. It is
	// what a user waits at most for a word about a server that is not there.
	answerLimit = 5 * time.Second
	// firstPause and longestPause bound the pauses between tries, each twice
	// the one before.
	firstPause   = time.Second
	longestPause = 15 * time.Second
)

// errNoAnswer is that the API server takes too long.
var errNoAnswer = errors.New("no answer")

// server is the API server, before anything is known of it.
type server struct {
	client rest.Interface
	host   string
	limit  time.Duration                        // for one answer
	after  func(time.Duration) <-chan time.Time // time.After
}

// await asks the API server for its version until it answers, and logs how that
// goes. It returns false when ctx ends first. Nothing else is started before:
// many parts that each complain of the same thing would hide what it is.
func (s *server) await(ctx context.Context) bool {
	log := logr.FromContextOrDiscard(ctx)
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		version, err := s.version(ctx)
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

// version is the version of Kubernetes. A server that keeps it from us answers
// all the same.
func (s *server) version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("%w within %s", errNoAnswer, s.limit))
	defer cancel()
	body, err := s.client.Get().AbsPath("/version").MaxRetries(0).Do(ctx).Raw()
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return "unknown", nil
	case apierrors.IsUnauthorized(err):
		return "", fmt.Errorf("it does not accept the credentials: %w", err)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", err
	}
	var info apiversion.Info
	if err := json.Unmarshal(body, &info); err != nil {
		return "", fmt.Errorf("read the version that the server tells: %w", err)
	}
	return info.GitVersion, nil
}
