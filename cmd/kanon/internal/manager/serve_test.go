package manager

import (
	"strings"
	"testing"
)

func TestServingIsValidated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		serving Serving
		wrong   string
	}{
		"the defaults":              {serving: Serving{Health: ":8081", Metrics: ":8443"}},
		"nothing":                   {serving: Serving{Health: Off, Metrics: Off}},
		"no port":                   {serving: Serving{Health: "localhost", Metrics: Off}, wrong: "--health-probe-bind-address"},
		"a number":                  {serving: Serving{Health: Off, Metrics: "8443"}, wrong: "--metrics-bind-address"},
		"plain on loopback":         {serving: Serving{Health: Off, Metrics: "127.0.0.1:8080", PlainMetrics: true}},
		"plain on IPv6 loopback":    {serving: Serving{Health: Off, Metrics: "[::1]:8080", PlainMetrics: true}},
		"plain on localhost":        {serving: Serving{Health: Off, Metrics: "localhost:0", PlainMetrics: true}},
		"plain and off":             {serving: Serving{Health: Off, Metrics: Off, PlainMetrics: true}},
		"plain for everybody":       {serving: Serving{Health: Off, Metrics: ":8080", PlainMetrics: true}, wrong: "Secrets"},
		"plain for one network":     {serving: Serving{Health: Off, Metrics: "10.0.0.1:8080", PlainMetrics: true}, wrong: "Secrets"},
		"plain for a name":          {serving: Serving{Health: Off, Metrics: "example.com:80", PlainMetrics: true}, wrong: "Secrets"},
		"a certificate and no key":  {serving: Serving{Health: Off, Metrics: ":8443", CertificateFile: "tls.crt"}, wrong: "--tls-private-key-file"},
		"a key and no certificate":  {serving: Serving{Health: Off, Metrics: ":8443", KeyFile: "tls.key"}, wrong: "--tls-cert-file"},
		"a certificate and its key": {serving: Serving{Health: Off, Metrics: ":8443", CertificateFile: "tls.crt", KeyFile: "tls.key"}},
	} {
		err := test.serving.Validate()
		if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.wrong)
		}
	}
}
