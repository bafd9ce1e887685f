package cli_test

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

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/cmd/kanon/internal/manager"
)

// asking is a command that asks a cluster.
var asking = &cobra.Command{Annotations: map[string]string{"kanon.dev/host": "it.example.com"}}

func TestExitCode(t *testing.T) {
	t.Parallel()
	request := func(err error) error {
		return fmt.Errorf("ask: %w", &url.Error{Op: "Get", URL: "https://it.example.com/version", Err: err})
	}
	for name, test := range map[string]struct {
		err  error
		want int
	}{
		"none":          {nil, cli.ExitOK},
		"findings":      {cli.ErrFindings, cli.ExitFindings},
		"anything else": {errors.New("no space left"), cli.ExitFindings},
		"usage":         {fmt.Errorf("here: %w", cli.AsUsage(errors.New("no such flag"))), cli.ExitUsage},
		"refused":       {request(&net.OpError{Op: "dial", Err: errors.New("connection refused")}), cli.ExitUnreachable},
		"no such host":  {request(&net.DNSError{Name: "it.example.com"}), cli.ExitUnreachable},
		"too slow":      {fmt.Errorf("ask: %w", fmt.Errorf("%w within 5s", manager.ErrNoAnswer)), cli.ExitUnreachable},
		"deadline":      {request(context.DeadlineExceeded), cli.ExitUnreachable},
		"broken off":    {request(io.EOF), cli.ExitUnreachable},
		"server error":  {apierrors.NewServiceUnavailable("later"), cli.ExitUnreachable},
		"forbidden":     {apierrors.NewForbidden(schema.GroupResource{}, "", nil), cli.ExitFindings},
		"no such file":  {fmt.Errorf("read: %w", &fs.PathError{Op: "open", Path: "a.yaml", Err: syscall.ENOENT}), cli.ExitFindings},
		"a reason":      {fmt.Errorf("a.yaml: %w", syscall.EACCES), cli.ExitFindings},
		"reset":         {request(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), cli.ExitUnreachable},
		"wrong scheme":  {request(http.ErrSchemeMismatch), cli.ExitFindings},
		"plugin":        {request(errors.New("getting credentials: exec: executable not found")), cli.ExitFindings},
		"interrupted":   {request(context.Canceled), cli.ExitFindings},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := cli.OfCluster(asking, test.err)
			if got := cli.ExitCode(err); got != test.want {
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
		"none":          {nil, cli.ExitOK},
		"differences":   {cli.ErrDifferences, cli.ExitFindings},
		"a broken rule": {cli.ErrFindings, cli.ExitUsage},
		"usage":         {cli.AsUsage(errors.New("no such flag")), cli.ExitUsage},
		"anything else": {errors.New("no such object"), cli.ExitUsage},
		"outage":        {context.DeadlineExceeded, cli.ExitUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := cli.ExitCode(cli.OfCluster(asking, cli.AsTrouble(test.err))); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}
