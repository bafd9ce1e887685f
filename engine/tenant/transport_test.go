package tenant_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/tenant"
)

// sent is a transport that keeps the last request.
type sent struct{ request *http.Request }

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.request = r
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	web := tenant.Identity{ServiceAccount: types.NamespacedName{Namespace: "team-a", Name: "web"}}
	confined := web
	confined.Confined = true
	const user, none = "system:serviceaccount:team-a:web", ""
	for name, test := range map[string]struct {
		who  tenant.Identity
		path string
		// want is the user that is named; refused is a request that is not sent.
		want    string
		refused bool
	}{
		"Kanon itself":                     {path: "/api/v1/namespaces/b/configmaps/x"},
		"a ServiceAccount":                 {who: web, path: "/api/v1/namespaces/b/configmaps/x", want: user},
		"at the cluster scope":             {who: web, path: "/apis/example.com/v1/things/x", want: user},
		"kinds":                            {who: confined, path: "/apis/example.com/v1", want: none},
		"groups":                           {who: confined, path: "/apis", want: none},
		"schemas":                          {who: confined, path: "/openapi/v3/api/v1", want: none},
		"confined, at home":                {who: confined, path: "/api/v1/namespaces/team-a/configmaps/x", want: user},
		"confined, at home, a group":       {who: confined, path: "/apis/example.com/v1/namespaces/team-a/things/x/status", want: user},
		"confined, elsewhere":              {who: confined, path: "/api/v1/namespaces/b/configmaps/x", refused: true},
		"confined, all namespaces":         {who: confined, path: "/api/v1/configmaps", refused: true},
		"confined, the cluster scope":      {who: confined, path: "/api/v1/nodes/x", refused: true},
		"confined, its Namespace":          {who: confined, path: "/api/v1/namespaces/team-a", refused: true},
		"confined, a path that goes up":    {who: confined, path: "/api/v1/namespaces/team-a/../b/configmaps", refused: true},
		"confined, an escaped path":        {who: confined, path: "/api/v1/namespaces/team-a/configmaps/%2e%2e", refused: true},
		"confined, an empty segment":       {who: confined, path: "/api/v1/namespaces/team-a//configmaps", refused: true},
		"confined, a proxy":                {who: confined, path: "/api/v1/nodes/x/proxy/namespaces/team-a/y", refused: true},
		"confined, what looks like kinds":  {who: confined, path: "/openapi/../api/v1/nodes", refused: true},
		"confined, its name as a resource": {who: confined, path: "/api/v1/team-a/configmaps/x", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			last := &sent{}
			request, err := http.NewRequestWithContext(tenant.NewContext(t.Context(), test.who), http.MethodPost, "https://127.0.0.1"+test.path, strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Impersonate-User", "starter")
			request.Header.Set("Impersonate-Group", "system:masters")
			response, err := tenant.Wrap(last).RoundTrip(request)
			if response != nil {
				defer func() { _ = response.Body.Close() }()
			}
			if outside, refused := errors.AsType[*tenant.OutsideError](err); refused != test.refused || refused != (last.request == nil) {
				t.Fatalf("refused: %v (%v), sent: %v", outside, err, last.request != nil)
			}
			if test.refused {
				return
			}
			want := test.want
			if want == none {
				want = "starter"
			}
			if got := last.request.Header.Get("Impersonate-User"); got != want {
				t.Errorf("sent for %q, want %q", got, want)
			}
			if groups := last.request.Header.Values("Impersonate-Group"); (len(groups) == 0) != (test.want != none) {
				t.Errorf("sent with the groups %v", groups)
			}
			if request.Header.Get("Impersonate-User") != "starter" {
				t.Error("the request itself was changed, which a RoundTripper must not do")
			}
		})
	}
}
