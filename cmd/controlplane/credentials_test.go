package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
)

func TestCredentials(t *testing.T) {
	files, err := newLayout(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	first, err := issueCredentials(files)
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(files.serviceAccountKey())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(files.certificate(), files.key())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(first.authority)
	for _, host := range []string{"127.0.0.1", "localhost", "kubernetes.default.svc"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Error(err)
		}
	}
	// OpenSSL takes a certificate for self-signed, and refuses it, when its subject is named like its issuer.
	if pair.Leaf.Subject.String() == pair.Leaf.Issuer.String() {
		t.Errorf("subject and issuer are both %s", pair.Leaf.Subject)
	}
	second, err := issueCredentials(files)
	if err != nil {
		t.Fatal(err)
	}
	if first.tokens[adminName] == second.tokens[adminName] {
		t.Error("the second start has the tokens of the first")
	}
	if again, err := os.ReadFile(files.serviceAccountKey()); err != nil || !bytes.Equal(key, again) {
		t.Errorf("the second start replaced the key of service accounts, and with it every token (%v)", err)
	}
}
