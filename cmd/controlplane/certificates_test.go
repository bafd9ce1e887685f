package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestIssuedCertificates(t *testing.T) {
	ca, err := newAuthority("test-ca")
	if err != nil {
		t.Fatal(err)
	}
	client, err := ca.client("alice", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	server, err := ca.server("serving", []net.IP{loopback()}, []string{"localhost"})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		credential credential
		usage      x509.ExtKeyUsage
		host       string
	}{
		"client":          {client, x509.ExtKeyUsageClientAuth, ""},
		"server, address": {server, x509.ExtKeyUsageServerAuth, "127.0.0.1"},
		"server, name":    {server, x509.ExtKeyUsageServerAuth, "localhost"},
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.certificate)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			leaf := parseLeaf(t, test.credential)
			_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: test.host, KeyUsages: []x509.ExtKeyUsage{test.usage}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	if leaf := parseLeaf(t, client); leaf.Subject.CommonName != "alice" || !slices.Equal(leaf.Subject.Organization, []string{"system:masters"}) {
		t.Errorf("the client is %s, want alice in system:masters", leaf.Subject)
	}
}

func parseLeaf(t *testing.T, c credential) *x509.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(c.certificate, c.key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// TestNoCertificateLooksSelfSigned: OpenSSL takes a certificate for self-signed,
// and refuses it, when its subject is named like its issuer.
func TestNoCertificateLooksSelfSigned(t *testing.T) {
	files, err := newLayout(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := issueCredentials(files); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{servingName, proxyClientName} {
		certificate, err := os.ReadFile(files.certificate(name))
		if err != nil {
			t.Fatal(err)
		}
		key, err := os.ReadFile(files.key(name))
		if err != nil {
			t.Fatal(err)
		}
		leaf := parseLeaf(t, credential{certificate: certificate, key: key})
		if leaf.Subject.String() == leaf.Issuer.String() {
			t.Errorf("%s: subject and issuer are both %s", name, leaf.Subject)
		}
	}
}

func TestServiceAccountKeyStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	var keys [2][]byte
	for i := range keys {
		if err := ensureServiceAccountKey(path); err != nil {
			t.Fatal(err)
		}
		key, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = key
	}
	if !bytes.Equal(keys[0], keys[1]) {
		t.Error("the second start replaced the key, and with it every token")
	}
}
