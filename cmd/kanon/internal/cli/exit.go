package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kanon.dev/kanon/cmd/kanon/internal/manager"
)

// The exit codes of all commands. Scripts rely on them.
const (
	ExitOK = iota
	// ExitFindings means that the checked input has errors or differs from what is expected, or that the command failed.
	ExitFindings
	// ExitUsage means that the command was called incorrectly.
	ExitUsage
	// ExitUnreachable means that a cluster does not answer. The same call may succeed later.
	ExitUnreachable
)

// ErrFindings ends a command whose output has already reported the problem.
var ErrFindings = errors.New("the rules have errors")

// ExitCode is the exit code for the error of a command, which may be nil.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return ExitOK
	case IsUsage(err), errors.As(err, new(*troubleError)):
		return ExitUsage
	case errors.As(err, new(*unreachableError)):
		return ExitUnreachable
	default:
		return ExitFindings
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

// OfCluster gives the error of a command that is an outage of the cluster that it asks a clear message and the exit code
// ExitUnreachable. It returns other errors unchanged.
func OfCluster(cmd *cobra.Command, err error) error {
	if host := cmd.Annotations[hostAnnotation]; host != "" && IsOutage(err) {
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
	return errors.Is(err, manager.ErrNoAnswer) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// usageError reports that the program was called incorrectly.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// AsUsage gives an error the exit code ExitUsage.
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

// AsTrouble gives an error the exit code ExitUsage, for commands whose exit code 1 means differences. ErrDifferences and
// errors with another exit code are returned unchanged.
func AsTrouble(err error) error {
	if ExitCode(err) != ExitFindings || errors.Is(err, ErrDifferences) || IsOutage(err) {
		return err
	}
	return &troubleError{err}
}

// ErrorMessage is the text of an error for the caller. For errors about credentials, certificates, addresses and missing
// rights, it adds what to do.
func ErrorMessage(err error) string {
	text := err.Error()
	switch {
	case apierrors.IsUnauthorized(err):
		text += "; log in again, or choose another user with --user or --context"
	case errors.Is(err, manager.ErrNoVersion):
		text += "; check that this is the address of the API server, and not of a proxy or a login page"
	case errors.As(err, new(*tls.CertificateVerificationError)):
		text += "; check certificate-authority and server of the cluster in the kubeconfig"
	case lacksRight(err):
		text += "; ask whoever administers the cluster for this right"
	}
	return text
}

// lacksRight reports whether the caller lacks a right. Otherwise admission refuses a request, for example by a quota.
func lacksRight(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && apierrors.IsForbidden(err) && strings.Contains(status.Status().Message, " cannot ")
}
