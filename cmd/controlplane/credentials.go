package main

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"strings"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// adminName is the name of the administrator among the clients. The others have the names of their components.
const adminName = "admin"

// credentials let the API server and its clients trust each other.
type credentials struct {
	// authority is the certificate authority of the API server, as PEM.
	authority []byte
	// tokens are the bearer tokens of the clients, by name.
	tokens map[string]string
}

// issueCredentials makes the credentials, and writes the files that components read. The key of service accounts stays,
// so their tokens stay valid after a restart in the same directory.
func issueCredentials(l *layout) (*credentials, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{loopback(), serviceAddress()}, []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	})
	if err != nil {
		return nil, fmt.Errorf("make certificate: %w", err)
	}
	if _, _, err := keyutil.LoadOrGenerateKeyFile(l.serviceAccountKey()); err != nil {
		return nil, fmt.Errorf("make service account key: %w", err)
	}
	c := &credentials{authority: certificate, tokens: map[string]string{}}
	var users strings.Builder
	for _, name := range []string{adminName, controllerManagerName, schedulerName, garbageCollectorName, kwokName} {
		c.tokens[name] = rand.Text()
		fmt.Fprintf(&users, "%s,system:%s,%[2]s,%s\n", c.tokens[name], name, groupOf(name))
	}
	for path, data := range map[string][]byte{l.certificate(): certificate, l.key(): key, l.tokens(): []byte(users.String())} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return nil, fmt.Errorf("write credential: %w", err)
		}
	}
	return c, nil
}

// groupOf is the group of a client. The scheduler has a default role. The others would need one role per controller, so
// they are masters, to whom the API server gives all rights.
func groupOf(name string) string {
	if name == schedulerName {
		return ""
	}
	return "system:masters"
}

func loopback() net.IP { return net.IPv4(127, 0, 0, 1) }

// serviceAddress is the first address of serviceRange, which the API server gives to the Service "kubernetes".
func serviceAddress() net.IP { return net.IPv4(10, 96, 0, 1) }

// serviceRange is kubeadm's default. It has room for a million Services.
const serviceRange = "10.96.0.0/12"
