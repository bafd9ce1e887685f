package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kanon.dev/kanon/apiserver"
)

// The exit codes of all commands. CI scripts tell them apart.
const (
	exitOK = iota
	// exitFindings: something is wrong with what was checked, or differs from what is wanted, or the command failed.
	exitFindings
	// exitUsage: the command was called wrongly.
	exitUsage
	// exitUnreachable: a cluster does not answer. The same call may succeed later.
	exitUnreachable
)

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case isUsage(err), errors.As(err, new(*troubleError)):
		return exitUsage
	case errors.As(err, new(*unreachableError)):
		return exitUnreachable
	default:
		return exitFindings
	}
}

// unreachableError is that a cluster does not answer.
type unreachableError struct {
	host string
	err  error
}

func (e *unreachableError) Error() string {
	err := e.err
	if request := new(url.Error); errors.As(err, &request) {
		err = request.Err // without the method and the address
	}
	return fmt.Sprintf("the API server at %s cannot be reached: %v; try again later, or choose another cluster with --context or --kubeconfig", e.host, err)
}

func (e *unreachableError) Unwrap() error { return e.err }

// clusterError makes an unreachableError of an error that is an outage. Others stay what they are.
func clusterError(host string, err error) error {
	if isOutage(err) {
		return &unreachableError{host: host, err: err}
	}
	return err
}

// isOutage reports whether an error means that a cluster does not answer, or only that it cannot. A missing right is an answer,
// and a certificate that is not trusted or a plugin that gives no credentials is a mistake at this end.
func isOutage(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError
	}
	if request := new(url.Error); errors.As(err, &request) {
		err = request.Err // url.Error is a net.Error, whatever it is about
	}
	return errors.As(err, new(net.Error)) || errors.Is(err, apiserver.ErrNoAnswer) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
