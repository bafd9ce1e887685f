package exit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/manager/apiserver"
)

func TestExitCode(t *testing.T) {
	t.Parallel()
	request := func(err error) error {
		return fmt.Errorf("ask: %w", &url.Error{Op: "Get", URL: "https://it.example.com/version", Err: err})
	}
	for name, test := range map[string]struct {
		err  error
		want int
	}{
		"none":          {nil, exit.OK},
		"findings":      {exit.ErrFindings, exit.Findings},
		"anything else": {errors.New("no space left"), exit.Findings},
		"usage":         {fmt.Errorf("here: %w", exit.AsUsage(errors.New("no such flag"))), exit.Usage},
		"refused":       {request(&net.OpError{Op: "dial", Err: errors.New("connection refused")}), exit.Unreachable},
		"no such host":  {request(&net.DNSError{Name: "it.example.com"}), exit.Unreachable},
		"too slow":      {fmt.Errorf("ask: %w", fmt.Errorf("%w within 5s", apiserver.ErrNoAnswer)), exit.Unreachable},
		"deadline":      {request(context.DeadlineExceeded), exit.Unreachable},
		"broken off":    {request(io.EOF), exit.Unreachable},
		"server error":  {apierrors.NewServiceUnavailable("later"), exit.Unreachable},
		"forbidden":     {apierrors.NewForbidden(schema.GroupResource{}, "", nil), exit.Findings},
		"no such file":  {fmt.Errorf("read: %w", &fs.PathError{Op: "open", Path: "a.yaml", Err: syscall.ENOENT}), exit.Findings},
		"a reason":      {fmt.Errorf("a.yaml: %w", syscall.EACCES), exit.Findings},
		"reset":         {request(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), exit.Unreachable},
		"wrong scheme":  {request(http.ErrSchemeMismatch), exit.Findings},
		"plugin":        {request(errors.New("getting credentials: exec: executable not found")), exit.Findings},
		"interrupted":   {request(context.Canceled), exit.Findings},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := exit.OfCluster("it.example.com", test.err)
			if got := exit.Code(err); got != test.want {
				t.Errorf("%v: %d, want %d", err, got, test.want)
			}
		})
	}
}

// A command whose exit code 1 means differences has another one for what goes wrong.
func TestTrouble(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want int
	}{
		"none":          {nil, exit.OK},
		"differences":   {exit.ErrDifferences, exit.Findings},
		"a broken rule": {exit.ErrFindings, exit.Usage},
		"usage":         {exit.AsUsage(errors.New("no such flag")), exit.Usage},
		"anything else": {errors.New("no such object"), exit.Usage},
		"outage":        {exit.OfCluster("it.example.com", context.DeadlineExceeded), exit.Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := exit.Code(exit.AsTrouble(test.err)); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}
