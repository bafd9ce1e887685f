package supportbundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
)

// mostBytes bounds a response.
const mostBytes = 64 << 20

// addMetrics adds the metrics and the profiles of each address. A heap profile shows which code allocated memory, not
// its contents. The goroutine profile has stacks without arguments.
func (c *collector) addMetrics(ctx context.Context) {
	if len(c.Metrics) == 0 {
		c.lacks("metrics/ and profiles/", errors.New("no address of metrics was named (--metrics)"))
	}
	for _, address := range c.Metrics {
		client, err := c.clientFor(address)
		if err != nil {
			c.lacks("metrics/", err)
			continue
		}
		name := strings.NewReplacer(":", "-", "[", "", "]", "").Replace(address.Host)
		collect := func(file, path, query string, add func(name, data string)) {
			body, err := fetch(ctx, client, address, path, query)
			c.lacks(file, err)
			if err == nil {
				add(file, string(body))
			}
		}
		collect("metrics/"+name+".txt", "/metrics", "", c.addText)
		collect("profiles/"+name+"-heap.pprof", "/debug/pprof/heap", "", c.addBinary)
		collect("profiles/"+name+"-goroutines.txt", "/debug/pprof/goroutine", "debug=1", c.addText)
	}
}

// clientFor returns a client with the user's identity, or with Token. Kanon's self-signed certificate cannot be
// verified. It is accepted only from this machine, for instance through kubectl port-forward, where nobody is in
// between.
func (c *collector) clientFor(address *url.URL) (*http.Client, error) {
	config := rest.CopyConfig(c.Config)
	config.Host = address.String()
	config.TLSClientConfig = rest.TLSClientConfig{Insecure: isLoopback(address.Hostname())}
	config.Impersonate = rest.ImpersonationConfig{}
	if c.Token != "" {
		config.BearerToken, config.BearerTokenFile = c.Token, ""
		config.ExecProvider, config.AuthProvider, config.Username, config.Password = nil, nil, "", ""
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to %s: %w", address, err)
	}
	return client, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func fetch(ctx context.Context, client *http.Client, address *url.URL, path, query string) ([]byte, error) {
	where := address.JoinPath(path)
	where.RawQuery = query
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", where, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err // it names the address
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostBytes))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", where, err)
	case response.StatusCode != http.StatusOK:
		line, _, _ := strings.Cut(string(body), "\n")
		return nil, fmt.Errorf("%s answers %s: %s", where, response.Status, line)
	}
	return body, nil
}
