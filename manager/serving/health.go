package serving

import (
	"net/http"

	"k8s.io/apiserver/pkg/server/healthz"
)

// Check is one thing that has to be well.
type Check struct {
	// Name is its path below /livez or /readyz.
	Name string
	// Problem is what is wrong; nil: nothing. It must not block, and not name what not everybody may know.
	Problem func() error
}

// Health answers /livez and /readyz, as the API server does. Live checks tell whether a restart would help, and ready ones whether
// the process does its work.
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
