package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// probeTimeout bounds one request of a probe.
const probeTimeout = 5 * time.Second

// probe returns a check that succeeds if a GET is answered with 200.
func probe(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return fmt.Errorf("make probe: %w", err)
		}
		response, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("probe: %w", err)
		}
		defer response.Body.Close() //nolint:errcheck // only read
		body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
		if err != nil {
			return fmt.Errorf("read answer of %s: %w", request.URL.Path, err)
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answered %s: %s", request.URL.Path, response.Status, notOK(body))
		}
		return nil
	}
}

// notOK lists the failing checks in a health report of Kubernetes, in which a passing check is a line such as "[+]ping
// ok".
func notOK(report []byte) []byte {
	var failing [][]byte
	for line := range bytes.SplitSeq(bytes.TrimSpace(report), []byte("\n")) {
		if !bytes.HasPrefix(line, []byte("[+]")) {
			failing = append(failing, line)
		}
	}
	return bytes.Join(failing, []byte("; "))
}

// probeEtcd returns a check of etcd on its socket.
func probeEtcd(l *layout) func(context.Context) error {
	dialer := &net.Dialer{}
	return probe(&http.Client{
		Timeout: probeTimeout,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return dialer.DialContext(ctx, "unix", l.etcdSocket())
			},
		},
	}, "http://etcd/health")
}

// probeServer returns a check of the API server. Everybody may ask it whether it is ready.
func probeServer(authority []byte, p *port) func(context.Context) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	return probe(&http.Client{
		Timeout:   probeTimeout,
		Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
	}, serverURL(p)+"/readyz")
}

func serverURL(p *port) string {
	return "https://" + net.JoinHostPort(loopback().String(), strconv.Itoa(p.number))
}

// probeServiceAccount returns a check for the service account that Pods in the default namespace need.
func probeServiceAccount(client kubernetes.Interface) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return errors.New("the default service account is not there yet")
		}
		if err != nil {
			return fmt.Errorf("get default service account: %w", err)
		}
		return nil
	}
}
