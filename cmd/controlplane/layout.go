package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// layout has the paths of a control plane's files.
//
//	logs/NAME.log      output of each component
//	pki/               the API server's certificate, keys and tokens
//	clients/NAME       kubeconfig files of the components
//	etcd/              etcd's data
//	sockets/           etcd's sockets
type layout struct {
	root string
	// sockets is outside of root if root's path is too long for a socket.
	sockets string
	// temporary is true if root is removed with the control plane.
	temporary bool
}

// longestSocket is the maximum length of a socket's path in bytes: sun_path has 104 bytes on macOS and 108 on Linux,
// including the terminating byte.
const longestSocket = 103

// newLayout makes the directories. An empty root means a temporary one.
func newLayout(root string) (*layout, error) {
	l := &layout{temporary: root == ""}
	if l.temporary {
		made, err := os.MkdirTemp("", "controlplane-")
		if err != nil {
			return nil, fmt.Errorf("make directory: %w", err)
		}
		root = made
	}
	absolute, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("find directory: %w", err)
	}
	l.root = absolute
	l.sockets = filepath.Join(l.root, "sockets")
	if len(l.etcdSocket()) > longestSocket {
		if l.sockets, err = os.MkdirTemp("", "controlplane-"); err != nil {
			return nil, fmt.Errorf("make directory: %w", err)
		}
	}
	for _, dir := range []string{l.logs(), l.pki(), l.clients(), l.sockets} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make directory: %w", err)
		}
	}
	return l, nil
}

func (l *layout) logs() string           { return filepath.Join(l.root, "logs") }
func (l *layout) pki() string            { return filepath.Join(l.root, "pki") }
func (l *layout) clients() string        { return filepath.Join(l.root, "clients") }
func (l *layout) etcdData() string       { return filepath.Join(l.root, "etcd") }
func (l *layout) auditPolicy() string    { return filepath.Join(l.root, "audit-policy.yaml") }
func (l *layout) schedulerConf() string  { return filepath.Join(l.root, "scheduler.yaml") }
func (l *layout) etcdSocket() string     { return filepath.Join(l.sockets, "client") }
func (l *layout) etcdPeerSocket() string { return filepath.Join(l.sockets, "peer") }

// client is the path of a component's kubeconfig.
func (l *layout) client(name string) string { return filepath.Join(l.clients(), name) }

func (l *layout) certificate() string       { return filepath.Join(l.pki(), "serving.crt") }
func (l *layout) key() string               { return filepath.Join(l.pki(), "serving.key") }
func (l *layout) tokens() string            { return filepath.Join(l.pki(), "tokens.csv") }
func (l *layout) serviceAccountKey() string { return filepath.Join(l.pki(), "service-account.key") }

// remove deletes the files that must not outlive the control plane.
func (l *layout) remove() error {
	if err := os.RemoveAll(l.sockets); err != nil {
		return fmt.Errorf("remove sockets: %w", err)
	}
	if !l.temporary {
		return nil
	}
	if err := os.RemoveAll(l.root); err != nil {
		return fmt.Errorf("remove directory: %w", err)
	}
	return nil
}
