package serving

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"
)

// SelfSigned is a self-signed certificate. It is made at the first connection: that takes a moment, and most processes
// get no connection.
func SelfSigned(host string) Certificate {
	generate := sync.OnceValues(func() (*tls.Certificate, error) {
		certificate, key, err := cert.GenerateSelfSignedCertKey(host, nil, []string{"localhost"})
		if err != nil {
			return nil, fmt.Errorf("make a certificate: %w", err)
		}
		return parsePair(certificate, key)
	})
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return generate() }
}

// CertificateFiles is a certificate in files, which are read again when they change.
type CertificateFiles struct {
	content *dynamiccertificates.DynamicCertKeyPairContent

	mu sync.Mutex
	// text is the certificate that pair was made from. Guarded by mu, as is pair.
	text string
	pair *tls.Certificate
}

// NewCertificateFiles reads a certificate and its key, in PEM.
func NewCertificateFiles(certificate, key string) (*CertificateFiles, error) {
	content, err := dynamiccertificates.NewDynamicServingContentFromFiles("serving", certificate, key)
	if err != nil {
		return nil, err
	}
	return &CertificateFiles{content: content}, nil
}

// Run watches the files until ctx ends.
func (c *CertificateFiles) Run(ctx context.Context) { c.content.Run(ctx, 1) }

// Certificate returns the newest certificate with a matching key.
func (c *CertificateFiles) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	certificate, key := c.content.CurrentCertKeyContent()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pair != nil && c.text == string(certificate) {
		return c.pair, nil
	}
	pair, err := parsePair(certificate, key)
	if err != nil {
		return nil, err
	}
	c.text, c.pair = string(certificate), pair
	return pair, nil
}

func parsePair(certificate, key []byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	return &pair, nil
}
