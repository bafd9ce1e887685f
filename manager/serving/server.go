package serving

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
	// headerLimit is how long a client may take for the head of a request, and idleLimit how long it may keep a connection.
	headerLimit = 10 * time.Second
	idleLimit   = 2 * time.Minute
	// headerBytes is how large the head may be. The token of a ServiceAccount has one or two KiB.
	headerBytes = 32 << 10
	// endLimit is how long requests have to end once the server ends.
	endLimit = 3 * time.Second
)

// Certificate is the certificate of a connection. It is called once for each.
type Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// Endpoint is one address and what it answers.
type Endpoint struct {
	// Name is what logs and errors call it.
	Name string
	// Address is host:port. Without a host it is every address of the machine, and port 0 is one that is free.
	Address string
	Handler http.Handler
	// Certificate makes it HTTPS; nil: HTTP.
	Certificate Certificate
}

// Server is an Endpoint that listens.
type Server struct {
	endpoint Endpoint
	listener net.Listener
}

// Listen opens the address. The caller must Run the server, which closes it.
func Listen(ctx context.Context, e Endpoint) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", e.Address)
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", e.Name, err)
	}
	return &Server{endpoint: e, listener: listener}, nil
}

// Address is where it listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close closes a server that is not run.
func (s *Server) Close() { _ = s.listener.Close() }

// Run serves until ctx ends, and then ends the requests that are under way.
func (s *Server) Run(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	server := &http.Server{
		Handler:           s.endpoint.Handler,
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) }, // Shutdown ends requests
		ReadHeaderTimeout: headerLimit,
		IdleTimeout:       idleLimit,
		MaxHeaderBytes:    headerBytes,
		// What clients do wrong, such as a handshake that they break off, is theirs.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(log.WithValues("endpoint", s.endpoint.Name)), slog.LevelDebug),
		// HTTP/1.1 only: one client could open any number of streams with HTTP/2.
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
