package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// TestClientConfig: the rate of requests is the API server's to limit, whichever
// way the cluster was named.
func TestClientConfig(t *testing.T) {
	const content = `apiVersion: v1
kind: Config
clusters:
- {name: one, cluster: {server: 'https://one.example.com'}}
- {name: two, cluster: {server: 'https://two.example.com'}}
contexts:
- {name: first, context: {cluster: one}}
- {name: second, context: {cluster: two}}
current-context: first
`
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	tests := map[string]struct {
		variable string
		flags    ClusterFlags
		want     string
	}{
		"flag":                    {missing, ClusterFlags{kubeconfig: path}, "https://one.example.com"},
		"variable":                {path, ClusterFlags{}, "https://one.example.com"},
		"context of the flag":     {missing, ClusterFlags{kubeconfig: path, overrides: clientcmd.ConfigOverrides{CurrentContext: "second"}}, "https://two.example.com"},
		"context of the variable": {path, ClusterFlags{overrides: clientcmd.ConfigOverrides{CurrentContext: "second"}}, "https://two.example.com"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", test.variable)
			config, err := test.flags.Config()
			if err != nil {
				t.Fatal(err)
			}
			if config.Host != test.want {
				t.Errorf("the server is %s, want %s", config.Host, test.want)
			}
			if config.QPS != -1 || config.RateLimiter != nil {
				t.Errorf("requests are limited to %v per second by %v, want -1 for no limit", config.QPS, config.RateLimiter)
			}
			if !strings.HasPrefix(config.UserAgent, "kanon/") || strings.Contains(config.UserAgent, " ") {
				t.Errorf("the user agent is %q, want one word that begins with kanon/", config.UserAgent)
			}
		})
	}
}
