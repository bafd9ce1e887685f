package manager

import (
	"crypto/tls"
	"fmt"
	"sync"

	"k8s.io/client-go/util/cert"
)

// Certificate returns the certificate for a connection.
type Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// SelfSigned is a self-signed certificate. It is made at the first connection: that takes a moment, and most processes
// get no connection.
func SelfSigned(host string) Certificate {
	generate := sync.OnceValues(func() (*tls.Certificate, error) {
		certificate, key, err := cert.GenerateSelfSignedCertKey(host, nil, []string{"localhost"})
		if err != nil {
			return nil, fmt.Errorf("make a certificate: %w", err)
		}
		pair, err := tls.X509KeyPair(certificate, key)
		return &pair, err
	})
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return generate() }
}

// CertificateFiles is a certificate and its key in files, in PEM. They are read for each connection, as they may change.
// The error reports that they cannot be read now.
func CertificateFiles(certificate, key string) (Certificate, error) {
	read := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		return &pair, err
	}
	_, err := read(nil)
	return read, err
}
