package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
)

const (
	// headerLimit is how long a client may take to send the headers of a request, and idleLimit how long it may keep a
	// connection idle.
	headerLimit = 10 * time.Second
	idleLimit   = 2 * time.Minute
	// headerBytes is the largest size of the headers. The token of a ServiceAccount has one or two KiB.
	headerBytes = 32 << 10
	// endLimit is how long requests may take to end once the server ends.
	endLimit = 3 * time.Second
)

// Endpoint is an address and its handler.
type Endpoint struct {
	// Name names the endpoint in logs and errors.
	Name string
	// Address is host:port. Without a host, it is every address of the machine. Port 0 is any free port.
	Address string
	Handler http.Handler
	// Certificate is for HTTPS; nil for HTTP.
	Certificate Certificate
}

// Server is an Endpoint that listens.
type Server struct {
	endpoint Endpoint
	listener net.Listener
}

// Listen opens the address. The caller must Run or Close the server.
func Listen(ctx context.Context, e Endpoint) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", e.Address)
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", e.Name, err)
	}
	return &Server{endpoint: e, listener: listener}, nil
}

// Address is the address that the server listens on.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close closes a server that was not run.
func (s *Server) Close() { _ = s.listener.Close() }

// Run serves until ctx ends. Then it waits for open requests, for at most endLimit.
func (s *Server) Run(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	server := &http.Server{
		Handler:           s.endpoint.Handler,
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) }, // Shutdown ends requests
		ReadHeaderTimeout: headerLimit,
		IdleTimeout:       idleLimit,
		MaxHeaderBytes:    headerBytes,
		// Errors of clients, such as an aborted handshake, are debug messages.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(log.WithValues("endpoint", s.endpoint.Name)), slog.LevelDebug),
		// HTTP/1.1 only: with HTTP/2, one client could open any number of streams.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	listener, scheme := s.listener, "http"
	if s.endpoint.Certificate != nil {
		scheme = "https"
		listener = tls.NewListener(listener, &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: s.endpoint.Certificate,
		})
	}
	log.Info("Serving", "endpoint", s.endpoint.Name, "at", scheme+"://"+s.Address())
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve %s: %w", s.endpoint.Name, err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	err := server.Shutdown(ending)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		return errors.Join(err, served)
	}
	return err
}
