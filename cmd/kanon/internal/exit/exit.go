package exit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kanon.dev/kanon/manager/apiserver"
)

// The exit codes of all commands. CI scripts tell them apart.
const (
	OK = iota
	// Findings: something is wrong with what was checked, or differs from what is wanted, or the command failed.
	Findings
	// Usage: the command was called wrongly.
	Usage
	// Unreachable: a cluster does not answer. The same call may succeed later.
	Unreachable
)

// ErrFindings ends a command whose output has said already what is wrong.
var ErrFindings = errors.New("the rules have errors")

// Code is the exit code of a command that ended with an error, or with none.
func Code(err error) int {
	switch {
	case err == nil:
		return OK
	case IsUsage(err), errors.As(err, new(*troubleError)):
		return Usage
	case errors.As(err, new(*unreachableError)):
		return Unreachable
	default:
		return Findings
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

// OfCluster makes an error that is an outage of the cluster at host one that says so, with the exit code Unreachable. Others stay
// what they are.
func OfCluster(host string, err error) error {
	if IsOutage(err) {
		return &unreachableError{host: host, err: err}
	}
	return err
}

// IsOutage reports whether an error means that a cluster does not answer, or only that it cannot. A missing right is an answer,
// and a certificate that is not trusted or a plugin that gives no credentials is a mistake at this end.
func IsOutage(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError
	}
	if request := new(url.Error); errors.As(err, &request) {
		err = request.Err // url.Error is a net.Error, whatever it is about
	}
	network := net.Error(nil)
	if errors.As(err, &network) {
		_, isErrno := network.(syscall.Errno) // as of a file; those of a connection are within a net.OpError
		return !isErrno
	}
	return errors.Is(err, apiserver.ErrNoAnswer) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// usageError is a mistake in how the program was called.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// AsUsage makes an error one of how the program was called.
func AsUsage(err error) error { return &usageError{err} }

// IsUsage reports whether an error is one of how the program was called.
func IsUsage(err error) bool { return errors.As(err, new(*usageError)) }

// Usagef makes an error of how the program was called. It ends by pointing to the command's help.
func Usagef(cmd *cobra.Command, format string, args ...any) error {
	return AsUsage(fmt.Errorf(format+"; see '%s --help'", append(args, cmd.CommandPath())...))
}

// troubleError is an error of a command whose exit code 1 means differences.
type troubleError struct{ error }

func (e *troubleError) Unwrap() error { return e.error }

// ErrDifferences ends a command whose output has said already what differs.
var ErrDifferences = fmt.Errorf("%w: there are differences", ErrFindings)

// AsTrouble gives an error the exit code Usage, for a command whose exit code 1 means differences, unless the error says that there
// are some, or has a code of its own.
func AsTrouble(err error) error {
	if Code(err) != Findings || errors.Is(err, ErrDifferences) {
		return err
	}
	return &troubleError{err}
}
