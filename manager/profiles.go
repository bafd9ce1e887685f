package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/go-logr/logr"
)

// headerLimit is how long a client of the profiles may take to ask.
const headerLimit = 5 * time.Second

// CheckProfilesAddress refuses an address that others than this machine could reach:
// profiles of the heap show what objects hold, Secrets too.
func CheckProfilesAddress(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--pprof must be an address such as 127.0.0.1:6060, not %q", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--pprof must be on loopback, such as 127.0.0.1:6060, not %q", address)
	}
	return nil
}

// serveProfiles serves Go's profiles under /debug/pprof/ on an address, until the
// function that it returns is called, which waits for the end.
func serveProfiles(ctx context.Context, address string) (stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve profiles: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerLimit}
	log := logr.FromContextOrDiscard(ctx)
	log.Info("Profiles are served", "at", "http://"+listener.Addr().String()+"/debug/pprof/")
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error(err, "Profiles are no longer served")
		}
	}()
	return func() {
		_ = server.Close() // what it closes is of no interest any more
		<-done
	}, nil
}
