package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/apiserver"
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
		"none":          {nil, exitOK},
		"findings":      {errFindings, exitFindings},
		"anything else": {errors.New("no space left"), exitFindings},
		"usage":         {fmt.Errorf("here: %w", &usageError{errors.New("no such flag")}), exitUsage},
		"refused":       {request(&net.OpError{Op: "dial", Err: errors.New("connection refused")}), exitUnreachable},
		"no such host":  {request(&net.DNSError{Name: "it.example.com"}), exitUnreachable},
		"too slow":      {fmt.Errorf("ask: %w", fmt.Errorf("%w within 5s", apiserver.ErrNoAnswer)), exitUnreachable},
		"deadline":      {request(context.DeadlineExceeded), exitUnreachable},
		"broken off":    {request(io.EOF), exitUnreachable},
		"server error":  {apierrors.NewServiceUnavailable("later"), exitUnreachable},
		"forbidden":     {apierrors.NewForbidden(schema.GroupResource{}, "", nil), exitFindings},
		"wrong scheme":  {request(http.ErrSchemeMismatch), exitFindings},
		"plugin":        {request(errors.New("getting credentials: exec: executable not found")), exitFindings},
		"interrupted":   {request(context.Canceled), exitFindings},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := clusterError("it.example.com", test.err)
			if got := exitCode(err); got != test.want {
				t.Errorf("%v: %d, want %d", err, got, test.want)
			}
		})
	}
}
