package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"

	"k8s.io/apiserver/pkg/server/healthz"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// Off is the address that turns an endpoint off.
const Off = "0"

// certificateHost is the name in the self-signed certificate. Nobody can verify it; it only encrypts.
const certificateHost = "kanon"

// Serving configures what kanon run serves.
type Serving struct {
	// Health is the address of /livez and /readyz, and Metrics that of /metrics and /debug. Off serves nothing.
	Health, Metrics string
	// PlainMetrics serves the metrics over HTTP without authentication. The address must be on loopback.
	PlainMetrics bool
	// CertificateFile and KeyFile are the certificate of the metrics; empty for a self-signed one.
	CertificateFile, KeyFile string
}

// Validate validates the fields. Errors name their flags.
func (s *Serving) Validate() error {
	var errs []error
	for name, address := range map[string]string{"health": s.Health, "metrics": s.Metrics} {
		if _, _, err := net.SplitHostPort(address); err != nil && address != Off {
			errs = append(errs, fmt.Errorf("%s must be an address such as :8081, or 0 for none, not %q", addressFlags()[name], address))
		}
	}
	if s.PlainMetrics && s.Metrics != Off && !isLoopback(s.Metrics) {
		errs = append(errs, fmt.Errorf(
			"--metrics-secure=false is for a loopback address, such as 127.0.0.1:8080, not %q: profiles of memory show what objects hold, Secrets too", s.Metrics))
	}
	if (s.CertificateFile == "") != (s.KeyFile == "") {
		errs = append(errs, errors.New("--tls-cert-file and --tls-private-key-file go together"))
	}
	return errors.Join(errs...)
}

// addressFlags are the flags of the addresses, by the names of the endpoints.
func addressFlags() map[string]string {
	return map[string]string{"health": "--health-probe-bind-address", "metrics": "--metrics-bind-address"}
}

// isLoopback reports whether an address can be reached from this machine only.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// runner runs until ctx ends.
type runner func(ctx context.Context) error

// listen opens the addresses, so that an address in use is reported before anything starts. It returns the servers to
// run.
func (m *Manager) listen(ctx context.Context) ([]runner, error) {
	endpoints, err := m.endpoints()
	if err != nil {
		return nil, err
	}
	var servers []*Server
	var runners []runner
	for _, e := range endpoints {
		server, err := Listen(ctx, e)
		if err != nil {
			for _, s := range servers {
				s.Close()
			}
			return nil, fmt.Errorf("%w; name another address with %s, or 0 for none", err, addressFlags()[e.Name])
		}
		servers = append(servers, server)
		runners = append(runners, server.Run)
	}
	return runners, nil
}

// endpoints returns the configured endpoints.
func (m *Manager) endpoints() (endpoints []Endpoint, err error) {
	o := m.serving
	if o.Health != Off {
		endpoints = append(endpoints, Endpoint{Name: "health", Address: o.Health, Handler: Health(m.readyChecks())})
	}
	if o.Metrics == Off {
		return endpoints, nil
	}
	metrics := Endpoint{Name: "metrics", Address: o.Metrics, Handler: m.debugHandler()}
	if o.PlainMetrics {
		return append(endpoints, metrics), nil
	}
	reviews, err := newReviews(m.config)
	if err != nil {
		return nil, err
	}
	metrics.Handler = reviews.Protect(metrics.Handler)
	metrics.Certificate = SelfSigned(certificateHost)
	if o.CertificateFile != "" {
		if metrics.Certificate, err = CertificateFiles(o.CertificateFile, o.KeyFile); err != nil {
			return nil, fmt.Errorf("read --tls-cert-file and --tls-private-key-file: %w", err)
		}
	}
	return append(endpoints, metrics), nil
}

// newReviews makes Reviews with a connection of their own.
func newReviews(config *rest.Config) (*Reviews, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	tokens, err1 := authenticationclient.NewForConfigAndClient(config, client)
	access, err2 := authorizationclient.NewForConfigAndClient(config, client)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("set up the reviews of requests: %w", err)
	}
	return NewReviews(tokens.TokenReviews(), access.SubjectAccessReviews()), nil
}

// debugHandler serves the metrics, the verbosity of the log, and Go's profiles under /debug/pprof/.
func (m *Manager) debugHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.metrics.Handler())
	mux.Handle("GET /debug/flags/v", m.verbosity)
	mux.Handle("PUT /debug/flags/v", m.verbosity)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// readyChecks are the checks of /readyz. A rule that cannot run is no reason to be unready: the rule reports it, and a
// restart would not help.
func (m *Manager) readyChecks() []Check {
	checks := []Check{
		{Name: "apiserver", Problem: m.outages.Problem},
		{Name: "rules", Problem: m.engine.CheckRules},
		{Name: "caches", Problem: m.engine.CheckCaches},
	}
	if m.elector != nil {
		checks = append(checks, Check{Name: "leadership", Problem: m.elector.problem})
	}
	return checks
}

// Check is one health check.
type Check struct {
	// Name is the path below /readyz.
	Name string
	// Problem returns what is wrong; nil if nothing is. It must not block, and must not reveal what not everybody may
	// know.
	Problem func() error
}

// Health serves /livez and /readyz, as the API server does. The checks report whether the process does its work. No check
// reports that a restart would help.
func Health(checks []Check) http.Handler {
	ready := []healthz.HealthChecker{healthz.PingHealthz}
	for _, check := range checks {
		ready = append(ready, healthz.NamedCheck(check.Name, func(*http.Request) error { return check.Problem() }))
	}
	mux := http.NewServeMux()
	healthz.InstallLivezHandler(mux, healthz.PingHealthz)
	healthz.InstallReadyzHandler(mux, ready...)
	return mux
}
