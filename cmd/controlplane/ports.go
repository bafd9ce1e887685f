package main

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// port is a TCP port of 127.0.0.1 that is reserved for a component. The socket is bound but does not listen, and shares
// its port (SO_REUSEPORT). So the component can listen on the port (with --permit-port-sharing), but the kernel gives
// it to no other process.
type port struct {
	number int
	socket int
}

// reservePort reserves a free port.
func reservePort() (*port, error) {
	syscall.ForkLock.RLock()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(socket)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("open socket: %w", err)
	}
	p := &port{socket: socket}
	if err := p.bind(); err != nil {
		return nil, errors.Join(err, p.release())
	}
	return p, nil
}

func (p *port) bind() error {
	if err := unix.SetsockoptInt(p.socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return fmt.Errorf("share port: %w", err)
	}
	if err := unix.Bind(p.socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return fmt.Errorf("bind port: %w", err)
	}
	address, err := unix.Getsockname(p.socket)
	if err != nil {
		return fmt.Errorf("read port: %w", err)
	}
	bound, ok := address.(*unix.SockaddrInet4)
	if !ok {
		return fmt.Errorf("read port: unexpected address %T", address)
	}
	p.number = bound.Port
	return nil
}

// release frees the port.
func (p *port) release() error {
	if err := unix.Close(p.socket); err != nil {
		return fmt.Errorf("release port: %w", err)
	}
	return nil
}
