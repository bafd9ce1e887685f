package serving

import (
	"net/http"

	"k8s.io/apiserver/pkg/server/healthz"
)

// Check is one health check.
type Check struct {
	// Name is the path below /livez or /readyz.
	Name string
	// Problem returns what is wrong; nil if nothing is. It must not block, and must not reveal what not everybody may
	// know.
	Problem func() error
}

// Health serves /livez and /readyz, as the API server does. Live checks report whether a restart would help, and ready
// checks whether the process does its work.
func Health(live, ready []Check) http.Handler {
	mux := http.NewServeMux()
	healthz.InstallLivezHandler(mux, checkers(live)...)
	healthz.InstallReadyzHandler(mux, checkers(ready)...)
	return mux
}

func checkers(checks []Check) []healthz.HealthChecker {
	all := []healthz.HealthChecker{healthz.PingHealthz}
	for _, check := range checks {
		all = append(all, healthz.NamedCheck(check.Name, func(*http.Request) error { return check.Problem() }))
	}
	return all
}
