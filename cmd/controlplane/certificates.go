package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"
)

// certificateLife is the validity of certificates. They are made for one run of the control plane, so any much longer
// time will do.
const certificateLife = 10 * 365 * 24 * time.Hour

// authority is a certificate authority, kept in memory only.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte // the certificate
}

// credential is a certificate with its private key, both as PEM.
type credential struct {
	certificate []byte
	key         []byte
}

// newAuthority makes a self-signed authority with a common name.
func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key of %s: %w", name, err)
	}
	template, err := certificateTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.KeyUsage |= x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create certificate of %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse certificate of %s: %w", name, err)
	}
	return &authority{certificate: certificate, key: key, pem: encodePEM("CERTIFICATE", der)}, nil
}

// client issues a client certificate. Kubernetes takes the common name as the user name, and the organizations as
// groups.
func (a *authority) client(user string, groups ...string) (credential, error) {
	template, err := certificateTemplate(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return credential{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

// server issues a serving certificate for addresses and host names.
func (a *authority) server(name string, addresses []net.IP, hosts []string) (credential, error) {
	template, err := certificateTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return credential{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses = addresses
	template.DNSNames = hosts
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (credential, error) {
	name := template.Subject.CommonName
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return credential{}, fmt.Errorf("generate key of %s: %w", name, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return credential{}, fmt.Errorf("create certificate of %s: %w", name, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return credential{}, fmt.Errorf("encode key of %s: %w", name, err)
	}
	return credential{certificate: encodePEM("CERTIFICATE", der), key: keyPEM}, nil
}

func certificateTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("draw serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber:          serial,
		Subject:               subject,
		NotBefore:             now.Add(-time.Hour), // clocks of containers and hosts differ
		NotAfter:              now.Add(certificateLife),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
	}, nil
}

// ensureServiceAccountKey makes the private key that signs service account tokens, unless it exists. So tokens stay
// valid after a restart in the same directory.
func ensureServiceAccountKey(path string) error {
	_, err := os.Stat(path)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for service account key: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generate service account key: %w", err)
	}
	data, err := encodeKey(key)
	if err != nil {
		return fmt.Errorf("encode service account key: %w", err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("write service account key: %w", err)
	}
	return nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("marshal key: %w", err)
	}
	return encodePEM("EC PRIVATE KEY", der), nil
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
