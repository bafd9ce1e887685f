package main

import (
	"context"
	"net"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReservedPort(t *testing.T) {
	held, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	other, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	if held.number == other.number {
		t.Errorf("port %d was reserved twice", held.number)
	}
	address := strings.TrimPrefix(serverURL(held), "https://")

	var plain net.ListenConfig
	if listener, err := plain.Listen(t.Context(), "tcp", address); err == nil {
		_ = listener.Close()
		t.Errorf("somebody else could take %s", address)
	}
	sharing := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		return firstOf(raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}), &err)
	}}
	listener, err := sharing.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("the component it is held for cannot listen: %v", err)
	}
	dialAndAccept(t, listener, address)
	if err := listener.Close(); err != nil {
		t.Error(err)
	}

	for _, p := range []*port{held, other} {
		if err := p.release(); err != nil {
			t.Error(err)
		}
	}
	listener, err = plain.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("the port is still held after its release: %v", err)
	}
	_ = listener.Close()
}

func firstOf(err error, next *error) error {
	if err != nil {
		return err
	}
	return *next
}

// dialAndAccept shows that connections reach the listener, and not the socket
// that only holds the port.
func dialAndAccept(t *testing.T, listener net.Listener, address string) {
	t.Helper()
	var dialer net.Dialer
	dial := func(ctx context.Context) {
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			t.Errorf("dial: %v", err)
			return
		}
		_ = connection.Close()
	}
	for range 8 { // SO_REUSEPORT would spread them over all sockets that listen
		dial(t.Context())
		connection, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = connection.Close()
	}
}
