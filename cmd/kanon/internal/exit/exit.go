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

// The exit codes of all commands. Scripts rely on them.
const (
	OK = iota
	// Findings means that the checked input has errors or differs from what is expected, or that the command failed.
	Findings
	// Usage means that the command was called incorrectly.
	Usage
	// Unreachable means that a cluster does not answer. The same call may succeed later.
	Unreachable
)

// ErrFindings ends a command whose output has already reported the problem.
var ErrFindings = errors.New("the rules have errors")

// Code is the exit code for the error of a command, which may be nil.
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

// unreachableError reports that a cluster does not answer.
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

// OfCluster gives an error that is an outage of the cluster at host a clear message and the exit code Unreachable. It
// returns other errors unchanged.
func OfCluster(host string, err error) error {
	if IsOutage(err) {
		return &unreachableError{host: host, err: err}
	}
	return err
}

// IsOutage reports whether an error means that a cluster does not answer, or answers only that it cannot. A missing
// right is an answer. An untrusted certificate and a plugin without credentials are errors on this side.
func IsOutage(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError
	}
	if request := new(url.Error); errors.As(err, &request) {
		err = request.Err // url.Error is a net.Error, whatever it is about
	}
	network := net.Error(nil)
	if errors.As(err, &network) {
		_, isErrno := network.(syscall.Errno) // an error of a file; errors of a connection are in a net.OpError
		return !isErrno
	}
	return errors.Is(err, apiserver.ErrNoAnswer) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// usageError reports that the program was called incorrectly.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// AsUsage gives an error the exit code Usage.
func AsUsage(err error) error { return &usageError{err} }

// IsUsage reports whether the program was called incorrectly.
func IsUsage(err error) bool { return errors.As(err, new(*usageError)) }

// Usagef makes a usage error. Its message ends with a pointer to the command's help.
func Usagef(cmd *cobra.Command, format string, args ...any) error {
	return AsUsage(fmt.Errorf(format+"; see '%s --help'", append(args, cmd.CommandPath())...))
}

// troubleError is an error of a command whose exit code 1 means differences.
type troubleError struct{ error }

func (e *troubleError) Unwrap() error { return e.error }

// ErrDifferences ends a command whose output has already shown the differences.
var ErrDifferences = fmt.Errorf("%w: there are differences", ErrFindings)

// AsTrouble gives an error the exit code Usage, for commands whose exit code 1 means differences. ErrDifferences and
// errors with another exit code are returned unchanged.
func AsTrouble(err error) error {
	if Code(err) != Findings || errors.Is(err, ErrDifferences) {
		return err
	}
	return &troubleError{err}
}
